"""The server is restarted under an open page: it goes on where it was, by itself."""

import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, WebSocket, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.conftest import SECONDS, running_app
from tests.browser.explore import Explore


def finished_runs(page: Page) -> list[int]:
    """One entry for each whole run of the page that ends from now on over a new connection."""
    ends: list[int] = []

    def hear(data: str | bytes) -> None:
        message = ForwardMsg.FromString(data if isinstance(data, bytes) else data.encode())
        if message.WhichOneof("type") == "script_finished":
            ends.append(message.script_finished)

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", hear)

    page.on("websocket", listen)
    return ends


@pytest.mark.parametrize("last", ["the page was opened", "a head was chosen"])
def test_a_page_goes_on_after_a_restart(browser: Browser, tmp_path: Path, last: str) -> None:
    with running_app(tmp_path / "first.log") as url:
        context = browser.new_context(base_url=url)
        context.set_default_timeout(1000 * SECONDS)
        explore = Explore(context.new_page(), "/?text=Hello+there&layer=2")
        if last == "a head was chosen":
            explore.number("Head (0 to 11)", 4)
        ends = finished_runs(explore.page)
    with running_app(tmp_path / "second.log", urlsplit(url).port or 0):
        end = time.monotonic() + SECONDS
        while ForwardMsg.FINISHED_SUCCESSFULLY not in ends and time.monotonic() < end:
            explore.page.wait_for_timeout(200)
        explore.settle()
        explore.number("Head (0 to 11)", 7)  # in a fragment, which the new server must know by now
        explore.expect_heading("Layer 2, head 7: weights")
        assert "hello" in [label.lower() for label in explore.labels]
        expect(explore.page.get_by_text("Connection error")).to_have_count(0)
        context.close()
    assert "Traceback" not in (tmp_path / "second.log").read_text()
