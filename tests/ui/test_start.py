"""What the server does once."""

import socket

import pytest
from streamlit.testing.v1 import AppTest

from attention_lab.ui.start import send_at_once
from tests.ui.helpers import APP


def test_connections_send_without_delay() -> None:
    """A socket as Streamlit makes it: without a protocol, so that asyncio takes it for no TCP."""
    with socket.socket(family=socket.AF_INET) as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        send_at_once()
        with socket.create_connection(server.getsockname()), server.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_wrong_setting_is_told_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server was started in another way than by `serve`, which would have ended."""
    monkeypatch.setenv("ATTENTION_LAB_TOKENS", "many")
    app = AppTest.from_file(APP, default_timeout=60).run()
    (error,) = app.error
    assert "whole number from 1" in error.value
    assert not app.exception
    assert not app.text_input
