"""The app comes up: a picture, no error in the browser or the log, nothing fetched from outside."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_first_visit_shows_a_picture(
    color_scheme: str, new_page: Callable[..., Page], minilm: object
) -> None:
    page = new_page(color_scheme=color_scheme)
    page.goto("/")
    expect(page).to_have_title("Attention Lab")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_the_page_fits_a_telephone(new_page: Callable[..., Page], minilm: object) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    page.goto("/")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
