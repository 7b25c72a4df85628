"""The Explore page in a browser, as a person uses it."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Locator, Page, expect

NewPage = Callable[..., Page]

# The chart of an element with that key, not the copy of an old one.
CHART = ".st-key-{} .js-plotly-plot:not(.old-picture)"


def query(page: Page) -> dict[str, list[str]]:
    """What the page's link holds."""
    return parse_qs(urlsplit(page.url).query)


class Explore:
    """One open page; each action ends when the app has answered it."""

    def __init__(self, page: Page, link: str = "/") -> None:
        self.page = page
        page.goto(link)
        self.settle()

    def settle(self) -> None:
        """Wait until the app has answered and the large picture is drawn."""
        expect(self.detail.locator(".main-svg").first).to_be_visible()
        self.answered()

    def answered(self) -> None:
        """Wait until the script has run and nothing on the page is old."""
        self.page.wait_for_timeout(700)  # longer than the text box waits for the next key
        self.page.wait_for_function(
            """() => document.querySelector('[data-test-script-state]')
                .dataset.testScriptState === 'notRunning'
                && !document.querySelector('.old-picture, [data-stale=true]')"""
        )

    @property
    def overview(self) -> Locator:
        return self.page.locator(CHART.format("overview"))

    @property
    def detail(self) -> Locator:
        return self.page.locator(CHART.format("detail"))

    @property
    def labels(self) -> list[str]:
        """The tokens down the large picture, as they are drawn."""
        return self.detail.locator(".ytick text").all_text_contents()

    def say(self, text: str) -> None:
        """Type a sentence."""
        self.page.get_by_label("Your sentence").fill(text)
        self.answered()

    def choose(self, name: str) -> None:
        """Press one of the buttons of a switch."""
        self.page.get_by_role("radio", name=name, exact=True).click()
        self.answered()

    def pick(self, label: str, option: str) -> None:
        """Choose an option of a list."""
        box = self.page.get_by_role("combobox", name=label)
        box.scroll_into_view_if_needed()
        self.page.wait_for_timeout(300)  # a list closes when the page scrolls
        box.click()
        self.page.get_by_role("option", name=option, exact=True).click()
        self.answered()

    def number(self, label: str, value: int) -> None:
        """Type a number."""
        box = self.page.get_by_label(label)
        box.fill(str(value))
        box.press("Enter")
        self.answered()

    def press(self, name: str) -> None:
        """Press a button."""
        self.page.get_by_role("button", name=name, exact=True).click()
        self.answered()

    def tile(self, layer: int, head: int) -> tuple[float, float]:
        """Where the middle of a tile is on the screen."""
        return self._place(self.overview, head, layer)

    def click_tile(self, layer: int, head: int) -> None:
        self.page.mouse.move(*self.tile(layer, head))
        self.page.mouse.click(*self.tile(layer, head))
        self.answered()

    def hover(self, row: int, column: int) -> str:
        """What the large picture says of a cell under the mouse."""
        self.page.mouse.move(0, 0)
        self.page.mouse.move(*self._place(self.detail, column, row))
        label = self.detail.locator(".hoverlayer .hovertext")
        expect(label).to_be_visible()
        return label.text_content() or ""

    def _place(self, chart: Locator, x: float, y: float) -> tuple[float, float]:
        chart.scroll_into_view_if_needed()
        found: list[float] = chart.evaluate(
            """(chart, [x, y]) => {
                const layout = chart._fullLayout, box = chart.getBoundingClientRect();
                return [box.left + layout._size.l + layout.xaxis.d2p(x),
                        box.top + layout._size.t + layout.yaxis.d2p(y)];
            }""",
            [x, y],
        )
        return found[0], found[1]

    def figure(self) -> dict[str, Any]:
        """What of the large picture's data one can see."""
        seen: dict[str, Any] = self.detail.evaluate(
            """chart => ({
                names: chart.data.map(trace => trace.name ?? null),
                colour: chart.data[0].colorscale?.[0][1] ?? null,
                low: chart._fullData[0].zmin,
                high: chart._fullData[0].zmax,
            })"""
        )
        return seen

    def expect_heading(self, text: str) -> None:
        """The line above the large picture."""
        expect(self.page.get_by_text(text).first).to_be_visible()
