"""What the server does once."""

import asyncio
import socket
import sys

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.web import bootstrap

from tests.ui.helpers import APP


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not made for Windows")
def test_messages_leave_at_once() -> None:
    """Nagle's algorithm would hold the end of a run back for 40 ms; uvloop switches it off."""
    found: list[int] = []

    class Connection(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted = transport.get_extra_info("socket")
            found.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Connection, "127.0.0.1", 0)
        _reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        while not found:
            await asyncio.sleep(0.01)
        writer.close()
        server.close()

    with asyncio.Runner(loop_factory=bootstrap._get_uvloop_loop_factory()) as runner:
        runner.run(asyncio.wait_for(serve(), 60))
    assert found == [1]


def test_a_wrong_setting_is_told_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server was started in another way than by `serve`, which would have ended."""
    monkeypatch.setenv("ATTENTION_LAB_TOKENS", "many")
    app = AppTest.from_file(APP, default_timeout=60).run()
    (error,) = app.error
    assert "whole number from 1" in error.value
    assert not app.exception
    assert not app.text_input
