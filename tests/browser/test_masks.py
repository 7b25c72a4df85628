"""The Masks page in a real browser: click cells, choose presets, reload, and find it all again."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import attention_lab as lab
from attention_lab.zoo import Model
from tests.browser.explore import CHART, Explore

TEXT = "The animal didn't cross the street because it was too tired."


@pytest.fixture(autouse=True)
def _needs(minilm: Model) -> None:
    """All of these look at the pulled model."""


class Masks(Explore):
    """One open Masks page."""

    @property
    def grid(self) -> Locator:
        return self.page.locator(CHART.format("grid"))

    def click_cell(self, query: int, key: int) -> None:
        place = self._place(self.grid, key, query)
        self.page.mouse.move(*place)
        self.page.mouse.click(*place)
        self.answered()

    def array(self, chart: Locator) -> np.ndarray:
        """The numbers that a heatmap shows; what is covered is NaN."""
        rows = chart.evaluate(
            "chart => chart.calcdata[0][0].z.map(row => Array.from(row, value => value ?? null))"
        )
        return np.array(rows, dtype=float)

    @property
    def mask(self) -> np.ndarray:
        return self.array(self.grid).astype(bool)

    @property
    def weights(self) -> np.ndarray:
        return np.nan_to_num(self.array(self.detail))


def open_masks(page: Page, **link: str) -> Masks:
    return Masks(page, f"/masks?{urlencode(link)}")


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def expected(model: Model, mask: str) -> np.ndarray:
    return lab.trace(model, TEXT, mask=mask)["encoder.3.self"].weights[1]


def test_click_cells_and_see_the_weights_change(page: Page, minilm: Model) -> None:
    masks = open_masks(page)
    own = masks.weights
    assert masks.mask.all()
    it, animal = 10, 2
    assert own[it, animal] == pytest.approx(0.677, abs=1e-3)

    masks.click_cell(it, animal)
    assert not masks.mask[it, animal]
    assert masks.mask.sum() == masks.mask.size - 1
    assert query(page)["cells"] == [f"encoder.self:{it}.{animal}"]
    name = f"none^cells:{it}.{animal}"
    np.testing.assert_allclose(masks.weights, expected(minilm, name), atol=1e-5)
    assert masks.hover(it, animal) == "it may not look at animal: masked"
    expect(page.get_by_text("The output moved")).to_be_visible()

    masks.click_cell(4, 4)
    masks.click_cell(0, 15)
    name = f"none^cells:{it}.{animal},4.4,0.15"
    np.testing.assert_allclose(masks.weights, expected(minilm, name), atol=1e-5)
    masks.click_cell(0, 15)  # and back, twice at the same place
    masks.click_cell(4, 4)
    masks.click_cell(it, animal)
    assert masks.mask.all()
    np.testing.assert_array_equal(masks.weights, own)
    assert "cells" not in query(page)


def test_the_same_by_the_pickers_and_all_undone(page: Page, minilm: Model) -> None:
    masks = open_masks(page, mask="causal")
    masks.pick("Query", "3  didn")
    masks.pick("Key", "9  because")
    masks.press("Open this cell")
    assert masks.mask[3, 9]
    name = "causal^cells:3.9"
    np.testing.assert_allclose(masks.weights, expected(minilm, name), atol=1e-5)
    masks.press("Close this cell")
    np.testing.assert_allclose(masks.weights, expected(minilm, "causal"), atol=1e-5)
    masks.click_cell(0, 5)
    masks.click_cell(8, 8)
    masks.press("Undo all cell edits")
    np.testing.assert_array_equal(masks.mask, np.tri(16, dtype=bool))
    masks.press("Put everything back")
    assert masks.mask.all()
    expect(page.get_by_text("The output moved")).to_have_count(0)


def test_presets_and_their_numbers(page: Page, minilm: Model) -> None:
    masks = open_masks(page)
    masks.pick("Mask", "dilated window")
    masks.number("Keys seen on each side", 2)
    masks.number("Distance from one of them to the next", 3)
    np.testing.assert_allclose(masks.weights, expected(minilm, "dilated:2:3"), atol=1e-5)
    masks.pick("Mask", "packed sentences")
    masks.number("Lengths of the sentences, such as 4,4", 5)
    np.testing.assert_allclose(masks.weights, expected(minilm, "blocks:5"), atol=1e-5)
    masks.pick("Mask", "window and global tokens")
    np.testing.assert_allclose(masks.weights, expected(minilm, "window:2|global:0"), atol=1e-5)
    before = masks.weights
    masks.click_cell(12, 1)

    page.reload()
    masks.settle()
    assert masks.mask[12, 1]
    name = "window:2|global:0^cells:12.1"
    np.testing.assert_allclose(masks.weights, expected(minilm, name), atol=1e-5)
    assert np.abs(masks.weights - before).max() > 1e-3


def test_the_mask_goes_along_to_explore(page: Page) -> None:
    masks = open_masks(page)
    masks.pick("Mask", "prefix, then causal")
    page.get_by_role("link", name="Explore").click()
    expect(page.get_by_role("heading", name="Who looks at whom?")).to_be_visible()
    masks.settle()
    assert re.fullmatch(r"animal looks at didn: 0\.\d{6}", masks.hover(2, 3))
    assert masks.hover(2, 9) == "animal may not look at because: masked"
    page.get_by_role("link", name="Masks").click()
    expect(page.get_by_role("heading", name="Who may look at whom?")).to_be_visible()
    masks.settle()
    assert masks.mask[2].tolist() == [True] * 4 + [False] * 12


def test_before_after_and_difference_share_their_scale(page: Page) -> None:
    masks = open_masks(page, mask="causal")
    after = masks.weights
    masks.choose("before")
    before = masks.weights
    assert masks.figure() | {"low": 0, "high": 1} == masks.figure()
    masks.choose("after − before")
    np.testing.assert_allclose(masks.weights, after - before, atol=1e-6)
    assert masks.figure() | {"low": -1, "high": 1} == masks.figure()


VIEWS = {
    "padding": "a sentence does not notice its company",
    "true or false?": "The model, run with this mask the wrong way round in every layer",
    "a row without keys": "the output has 0 numbers that are NaN",
    "leak test": "A leak",
    "cost": "256 of 256 cells",
}


def test_every_view_by_its_switch(page: Page) -> None:
    masks = open_masks(page)
    for name, text in VIEWS.items():
        masks.choose(name)
        expect(page.get_by_text(text).first).to_be_visible()
        expect(page.get_by_test_id("stException")).to_have_count(0)
    masks.choose("leak test")
    masks.pick("Mask", "causal")
    expect(page.get_by_text("Passed: no output before it moved")).to_be_visible()


@pytest.mark.parametrize("view", ["edit", "padding", "conventions", "closed", "leak", "cost"])
def test_a_telephone_needs_no_sideways_scrolling(view: str, new_page: Callable[..., Page]) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.goto(f"/masks?masks={view}&mask=causal")
    expect(page.get_by_text("The model reads 16 tokens")).to_be_attached()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
