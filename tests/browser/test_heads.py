"""The Heads page in a real browser: sort the heads, open one, find the head of two tokens."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

import attention_lab as lab
from attention_lab.analysis.heads import head_table
from attention_lab.zoo.loaded import Model

TEXT = "The animal didn't cross the street because it was too tired."
HEADER, ROW = 18, 54  # the middle of the header and of the first row, in pixels from the top
CHECKBOX, ENTROPY = 16, 350


def expect_head(page: Page, layer: int, head: int) -> None:
    """Explore, with this head chosen."""
    expect(page.get_by_role("heading", name="Who looks at whom?")).to_be_visible()
    expect(page.get_by_label("Layer (0 to 5)")).to_have_value(str(layer))
    expect(page.get_by_label("Head (0 to 11)")).to_have_value(str(head))
    page.wait_for_url(f"**head={head}**")


def test_sort_the_heads_and_open_one(new_page: Callable[..., Page], minilm: Model) -> None:
    page = new_page()
    page.goto("/heads")
    expect(page.get_by_text("of 72 heads show none of these roles")).to_be_visible()
    table = page.get_by_test_id("stDataFrame").first
    box = table.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + ENTROPY, box["y"] + HEADER)  # drawn on a canvas
    page.wait_for_timeout(500)
    page.mouse.click(box["x"] + CHECKBOX, box["y"] + ROW)
    measured = head_table(lab.trace(minilm, TEXT))
    lowest = measured.loc[measured["entropy"].idxmin()]
    expect_head(page, int(lowest["layer"]), int(lowest["head"]))


def test_find_the_head_and_open_it_from_the_picture(
    new_page: Callable[..., Page], minilm: object
) -> None:
    page = new_page()
    page.goto("/heads?heads=find")
    expect(page.get_by_text("Layer 3, head 1 looks from “it” at “animal”")).to_be_visible()
    point = page.locator(".js-plotly-plot .scatterlayer .point").nth(0 * 12 + 6)
    box = point.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect_head(page, 0, 6)


@pytest.mark.parametrize("path", ["/heads", "/heads?heads=similarity", "/architecture"])
def test_a_telephone_needs_no_sideways_scrolling(
    path: str, new_page: Callable[..., Page], minilm: object
) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.goto(path)
    expect(page.get_by_text("The model reads 16 tokens")).to_be_attached()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
