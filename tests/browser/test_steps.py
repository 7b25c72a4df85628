"""Step by step in a real browser: the whole walk, by button and by key, and the toy."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

N_STAGES = 11


def test_walk_through_all_stages(new_page: Callable[..., Page], minilm: object) -> None:
    page = new_page()
    page.goto("/steps")
    stage = page.get_by_role("combobox", name="Stage")
    for number in range(1, N_STAGES + 1):
        expect(stage).to_have_value(re.compile(f"^{number} / {N_STAGES}"))
        expect(page.get_by_text("Recomputed here in float64")).to_be_visible()
        if number < N_STAGES:
            page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    page.get_by_role("heading", name="How does one number").click()
    page.keyboard.press("ArrowLeft")
    expect(stage).to_have_value(re.compile(f"^{N_STAGES - 1} / {N_STAGES}"))
    page.wait_for_url(f"**at={N_STAGES - 1}**")


def test_editing_a_cell_of_the_toy_changes_the_result(new_page: Callable[..., Page]) -> None:
    page = new_page()
    page.goto("/steps?with=toy&at=3&query=0&key=0")
    expect(page.get_by_text("Untrained")).to_be_visible()
    value = page.get_by_test_id("stMetricValue")
    before = value.inner_text()
    table = page.get_by_test_id("stDataFrame").first
    box = table.bounding_box()
    assert box is not None
    # The table is drawn on a canvas: the first number is right of the row's name, under the head.
    page.mouse.dblclick(box["x"] + box["width"] * 0.35, box["y"] + 52)
    editor = page.locator("#portal input")
    editor.fill("7")
    editor.press("Enter")
    expect(value).not_to_have_text(before)
