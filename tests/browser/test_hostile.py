"""Hostile texts and links in a real browser: nothing of them runs, and every page stays whole."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from benchmarks.crowd import odd
from tests.browser.explore import CHART

PWNED = "window.__pwned"


def texts() -> list[str]:
    """All snippets, in two texts that are not too long."""
    groups = odd.SNIPPETS
    one = groups["scripts"] + groups["markup"]
    other = groups["templates"] + groups["odd"] + groups["tokens"] + groups["paths"]
    return [" ".join(snippets) for snippets in (one, other)]


LINKS = {
    "text": lambda: [f"text={quote(text)}" for text in texts()],
    "values": lambda: [
        "&".join(f"{key}={quote(value)}" for key, value in zip(odd.keys(), values, strict=False))
        for values in (odd.SNIPPETS["scripts"], odd.SNIPPETS["paths"] + odd.SNIPPETS["numbers"])
    ],
}


@pytest.mark.parametrize("kind", ["text", pytest.param("values", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", odd.pages())
def test_nothing_of_a_link_runs(page: Page, name: str, kind: str) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"A dialog opened: {dialog.message}"))
    for link in LINKS[kind]():
        page.goto(f"/{name}?{link}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        settle(page)
        shown = page.locator(".js-plotly-plot, [data-testid=stAlert], [data-testid=stDataFrame]")
        expect(shown.first).to_be_visible()
        assert page.evaluate(PWNED) is None
        expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_typed_text_stays_text(page: Page) -> None:
    """Also where Plotly draws it: on the axes, and under the mouse."""
    page.goto("/")
    settle(page)
    chart = page.locator(CHART.format("detail"))
    for text, seen in {
        "<b>cat</b> <img src=x onerror=window.__pwned=1>": "<",
        "$x^2$ &amp; ${window.__pwned=1}": "$",
    }.items():
        page.get_by_label("Your sentence").fill(text)
        expect(chart.locator(".ytick text", has_text=seen).first).to_be_visible()
        settle(page)
        expect(page.get_by_label("Your sentence")).to_have_value(text)
        assert chart.locator(".ytick img, .ytick b, .ytick script, .ytick .MathJax").count() == 0
        chart.hover()
        assert page.evaluate(PWNED) is None


def settle(page: Page) -> None:
    """Wait until the app has answered."""
    page.wait_for_function(
        """() => document.querySelector('[data-test-script-state]')
            ?.dataset.testScriptState === 'notRunning'"""
    )
