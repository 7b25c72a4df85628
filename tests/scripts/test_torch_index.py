"""The probe for PyTorch's CPU index, against servers that answer, refuse and say nothing."""

import http.server
import socket
import sys
import threading
from collections.abc import Iterator

import pytest

from scripts import torch_index


class Index(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(200 if self.path == "/whl/cpu/torch/" else 404)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


@pytest.fixture
def linux_without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(torch_index, "has_nvidia_gpu", lambda: False)


def test_an_index_that_lists_torch_answers(server: str) -> None:
    assert torch_index.answers(f"{server}/whl/cpu")
    assert torch_index.answers(f"{server}/whl/cpu/")


def test_an_index_without_torch_does_not(server: str) -> None:
    assert not torch_index.answers(f"{server}/elsewhere")


@pytest.mark.parametrize("index", ["http://127.0.0.1:1/whl", "not an address", "file:///nowhere"])
def test_what_cannot_be_reached_does_not(index: str) -> None:
    assert not torch_index.answers(index)


def test_a_silent_server_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        index = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert not torch_index.answers(index, seconds=0.2)


@pytest.mark.usefixtures("linux_without_gpu")
def test_the_index_becomes_an_option_of_pip(
    server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TORCH_INDEX", f"{server}/whl/cpu")
    torch_index.main()
    assert capsys.readouterr().out == f"--extra-index-url {server}/whl/cpu\n"


@pytest.mark.usefixtures("linux_without_gpu")
def test_without_an_answer_pip_gets_no_option_and_the_user_a_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TORCH_INDEX", "http://127.0.0.1:1/whl/cpu")
    torch_index.main()
    printed = capsys.readouterr()
    assert not printed.out
    assert "does not answer" in printed.err


@pytest.mark.usefixtures("linux_without_gpu")
@pytest.mark.parametrize("reason", ["a GPU", "macOS", "switched off"])
def test_where_it_is_of_no_use_nothing_is_asked(
    reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answers(index: str) -> bool:
        raise AssertionError(index)

    monkeypatch.setattr(torch_index, "answers", answers)
    if reason == "a GPU":
        monkeypatch.setattr(torch_index, "has_nvidia_gpu", lambda: True)
    elif reason == "macOS":
        monkeypatch.setattr(sys, "platform", "darwin")
    else:
        monkeypatch.setenv("TORCH_INDEX", "")
    torch_index.main()
    assert not capsys.readouterr().out
