"""A person with a real browser: Chromium, driven by Playwright."""

import os
import shutil
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import expect, sync_playwright

PATIENCE = 180_000  # milliseconds: two cores, and three replicas that load their models


class Browser(AbstractContextManager["Browser"]):
    """Chromium on the app at `address`, opened by a link with the text `word` in it."""

    def __init__(self, address: str, word: str) -> None:
        self._address, self._word = address, word
        self._play = sync_playwright().start()
        path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
        self._chromium = self._play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        self._context = self._chromium.new_context(viewport={"width": 1280, "height": 800})
        self._page = self._context.new_page()
        self._page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        self._problems: list[str] = []
        self._page.on("pageerror", lambda error: self._problems.append(str(error)))
        self._page.on("console", self._listen)
        self._page.on("request", self._follow)
        self._open(word)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._chromium.close()
        self._play.stop()

    @property
    def replica(self) -> str:
        """Where the cookie says this browser is."""
        cookies = {str(c.get("name")): str(c.get("value")) for c in self._context.cookies()}
        return cookies["lab_replica"]

    def check_pages(self) -> None:
        """Type the word, open every page from the menu; raises if the browser refused anything."""
        box = self._page.get_by_label("Your sentence")
        box.fill(f"{self._word} again")
        box.press("Enter")
        self._page.wait_for_url("**again**")
        menu = self._page.get_by_role("navigation", name="App pages").get_by_role("link")
        for link in menu.all():
            link.click()
            self._page.wait_for_load_state("networkidle")
            expect(self._page.get_by_role("heading", level=1)).to_be_visible()
            expect(self._page.get_by_test_id("stStatusWidget")).to_have_count(0)
        # A component with a script of its own.
        self._page.goto(f"http://{self._address}/positions?about=order")
        expect(self._page.get_by_role("button", name="to the left").first).to_be_visible()
        self._open(f"{self._word} again")
        if self._problems:
            raise AssertionError("\n".join(self._problems))

    def back(self, most: float) -> tuple[float, float]:
        """After this browser's replica died: seconds until it is connected again, and until it then
        shows another head with the old sentence."""
        start = time.monotonic()
        app = self._page.get_by_test_id("stApp").first
        state = "data-test-connection-state"
        expect(app).not_to_have_attribute(state, "CONNECTED", timeout=most * 1e3)
        expect(app).to_have_attribute(state, "CONNECTED", timeout=most * 1e3)
        connected = time.monotonic()
        head = self._page.get_by_role("spinbutton", name="Head")
        head.fill("6")
        head.press("Enter")
        self._see("Layer 3, head 6")
        expect(self._page.get_by_label("Your sentence")).to_have_value(f"{self._word} again")
        return connected - start, time.monotonic() - connected

    def _open(self, text: str) -> None:
        link = urlencode({"text": text, "model": "minilm", "layer": 3, "head": 4})
        self._page.goto(f"http://{self._address}/?{link}")
        self._see("Layer 3, head 4")

    def _see(self, picture: str) -> None:
        expect(self._page.get_by_role("figure", name=f"{picture}: weights")).to_be_visible()

    def _listen(self, message: Any) -> None:
        if "Content Security Policy" in message.text or "Refused" in message.text:
            self._problems.append(message.text)

    def _follow(self, request: Any) -> None:
        if not request.url.startswith((f"http://{self._address}/", "data:", "blob:")):
            self._problems.append(f"something is fetched from outside: {request.url}")
