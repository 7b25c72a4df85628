"""A server of its own: settings checked at its start, and no text of a user in its log."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest

from attention_lab.ui import log, serve
from benchmarks.client import Session
from tests.ui.conftest import MODELS, write

ROOT = Path(__file__).parents[2]
SECRET = "SECRETWORD"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"ATTENTION_LAB_QUEUE": "many"}, "ATTENTION_LAB_QUEUE is 'many'; it must be"),
        ({"ATTENTION_LAB_CONFIG": "no.toml"}, "no.toml, named by ATTENTION_LAB_CONFIG, cannot"),
    ],
)
def test_a_wrong_setting_ends_the_start_with_one_sentence(
    settings: dict[str, str], sentence: str
) -> None:
    command = [sys.executable, "-m", "attention_lab.ui.serve"]
    environment = {**os.environ, **settings}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 1
    assert sentence in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert not ended.stdout


def test_the_process_begins_again_once_with_its_settings_of_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[tuple[object, ...]] = []
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("os.execve", lambda *call: begun.append(call) or sys.exit(0))
    with pytest.raises(SystemExit):
        serve.main()
    ((program, command, environment),) = begun
    assert (program, command) == (sys.executable, sys.orig_argv)
    assert environment == {**os.environ, "GLIBC_TUNABLES": serve.MALLOC}
    assert "arena_max=1:" in serve.MALLOC


@contextmanager
def serving(script: str, log: Path, home: Path) -> Iterator[str]:
    """The address of the app, with tiny models, all that it prints in `log`."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = [f"--server.port={port}", "--server.address=127.0.0.1", "--server.headless=true"]
    command = [sys.executable, "-m", *script.split(), *options]
    environment = {**os.environ, "ATTENTION_LAB_HOME": str(home)}
    with log.open("wb") as sink:
        server = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=sink, stderr=subprocess.STDOUT
        )
    try:
        end = time.monotonic() + 120
        while time.monotonic() < end and not answers(port):
            assert server.poll() is None, log.read_text()
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5):
            return True
    except OSError:
        return False


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A home with a tiny model, and one whose file is broken."""
    write(tmp_path / "home" / "models" / "minilm", MODELS["minilm"])
    broken = tmp_path / "home" / "models" / "smollm2"
    write(broken, MODELS["smollm2"])
    (broken / "model.safetensors").write_bytes(b"broken")
    return tmp_path / "home"


@pytest.mark.parametrize("script", ["attention_lab.ui.serve", "streamlit run app.py"])
def test_no_text_of_a_user_is_in_the_log(script: str, models: Path, tmp_path: Path) -> None:
    """Through the link and the text box; right, too long, and with errors of all kinds."""
    printed = tmp_path / "log.txt"
    with serving(script, printed, models) as address:
        link = urlencode({"text": SECRET, "mask": SECRET, "layer": SECRET, "off": [SECRET]})
        for path in ("", "heads", SECRET, f"_stcore/{SECRET}", f"media/{SECRET}"):
            with suppress(OSError):  # a refusal is an answer as well
                urllib.request.urlopen(f"http://{address}/{path}?{link}", timeout=60)
        with Session(address) as session:
            session.open(link)
            for text in (
                f"the {SECRET} cat",
                f"{SECRET} " * 5_000,
                f"\x00 {SECRET} \x1b[31m </script>",
                "the cat",
            ):
                session.change("Your sentence", text)
        with Session(address) as session:
            session.open(urlencode({"model": "smollm2", "text": SECRET}))
    said = printed.read_text(errors="replace")
    assert "8501" in said or "127.0.0.1" in said
    assert SECRET not in said


def test_an_uncaught_error_is_logged_by_kind_and_place_alone(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that raises in the middle of a run, as a bug of ours would."""
    script = tmp_path / "broken.py"
    script.write_text(
        "import streamlit as st\n"
        "from attention_lab.ui.start import start_server\n"
        "start_server()\n"
        "text = st.text_input('Your sentence')\n"
        "def work():\n"
        "    try:\n"
        "        int(text)\n"
        "    except ValueError as error:\n"
        "        raise KeyError(text) from error\n"
        "if text:\n"
        "    work()\n"
    )
    printed = tmp_path / "log.txt"
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with serving(f"streamlit run {script}", printed, models) as address, Session(address) as one:
        one.open()
        with pytest.raises(RuntimeError):
            one.change("Your sentence", SECRET)
    said = printed.read_text()
    assert SECRET not in said
    assert re.search(r'broken\.py", line 7, in work', said)
    assert "ValueError (its message is not logged)" in said
    assert "KeyError (its message is not logged)" in said


def test_who_types_on_while_waiting_gives_the_place_up(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that waits is replaced: what it waited for is never computed."""
    script = tmp_path / "wait.py"
    script.write_text(
        "import threading\n"
        "import streamlit as st\n"
        "from attention_lab.tracing.gate import Gate\n"
        "from attention_lab.ui.asking import waiting\n"
        "make = st.cache_resource(lambda kind: kind(1, 9) if kind is Gate else kind())\n"
        "gate, leave = make(Gate), make(threading.Event)\n"
        "text = st.text_input('Your sentence')\n"
        "if text == 'go on':\n"
        "    leave.set()\n"
        "elif text:\n"
        "    with waiting('Reading'), gate:\n"
        "        print('computed', text, flush=True)\n"
        "        leave.wait(60)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    printed, label = tmp_path / "log.txt", "Your sentence"

    def computed() -> list[str]:
        return re.findall("computed (.*)", printed.read_text())

    with (
        serving(f"streamlit run {script}", printed, models) as address,
        ThreadPoolExecutor(2) as pool,
        Session(address) as first,
        Session(address) as second,
        Session(address) as third,
    ):
        for session in (first, second, third):
            session.open()
        ends = [pool.submit(first.change, label, "long")]
        while computed() != ["long"]:
            time.sleep(0.05)
        ends.append(pool.submit(second.change, label, "half a sen"))
        time.sleep(1)  # by then it waits
        second.interrupt(label, "half a sentence")
        time.sleep(0.5)
        third.change(label, "go on")
        for end in ends:
            end.result(60)
        assert computed() == ["long", "half a sentence"]


def test_errors_without_their_messages() -> None:
    try:
        try:
            raise ValueError(SECRET)
        except ValueError as error:
            raise RuntimeError(SECRET) from error
    except RuntimeError as error:
        error.__cause__.__context__ = error  # type: ignore[union-attr]  # a ring
        said = log.without_messages(error)
    assert SECRET not in said
    assert said.index("ValueError") < said.index("RuntimeError (its message")
