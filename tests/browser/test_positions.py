"""The Positions page in a real browser: move words, switch positions off, and read what it says."""

import re

import pytest
from playwright.sync_api import Page, expect

from attention_lab.zoo import Model
from tests.browser.explore import CHART, Explore


@pytest.fixture(autouse=True)
def _needs(minilm: Model) -> None:
    """All of these look at the pulled model."""


class Positions(Explore):
    """One open Positions page."""

    def settle(self) -> None:
        expect(self.page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
        self.answered()

    @property
    def words(self) -> list[str]:
        return self.page.locator(".st-key-words li span").all_text_contents()

    @property
    def differences(self) -> list[float]:
        """The two numbers: with positions, and without."""
        values = self.page.get_by_test_id("stMetricValue").all_text_contents()
        return [float(value) for value in values]

    @property
    def moved_most(self) -> float:
        """The largest change of a weight in the picture on the right."""
        return float(
            self.page.locator(CHART.format("order_change")).evaluate(
                "chart => Math.max(...chart.calcdata[0][0].z.flat().map(Math.abs))"
            )
        )


def test_words_move_by_arrow_and_by_dragging(page: Page) -> None:
    lab = Positions(page, "/positions?about=order&text=The+dog+chased+the+cat.")
    assert lab.words == ["The", "cat", "chased", "the", "dog", "."]
    lab.press("As typed")
    assert lab.words == ["The", "dog", "chased", "the", "cat", "."]
    assert lab.differences == [0, 0]
    lab.press("Move “dog” to the right")
    assert lab.words == ["The", "chased", "dog", "the", "cat", "."]
    on, off = lab.differences
    assert on > 1e-2
    assert off < 1e-5
    page.locator(".st-key-words li", has_text="cat").locator("span").hover()
    page.mouse.down()
    goal = page.locator(".st-key-words li", has_text="chased").bounding_box()
    assert goal is not None
    page.mouse.move(goal["x"] + 3, goal["y"] + goal["height"] / 2, steps=8)
    page.mouse.up()
    lab.answered()
    assert lab.words == ["The", "cat", "chased", "dog", "the", "."]
    expect(page).to_have_url(re.compile(r"order=0%2C4%2C2%2C1%2C3%2C5"))
    page.reload()
    lab.settle()
    assert lab.words == ["The", "cat", "chased", "dog", "the", "."]


def test_without_positions_nothing_changes_but_the_place(page: Page) -> None:
    lab = Positions(page, "/positions?about=order")
    assert lab.moved_most > 0.1
    page.get_by_text("Positions on", exact=True).click()
    lab.answered()
    assert lab.moved_most < 1e-5
    expect(page).to_have_url(re.compile("positions=false"))


def test_each_cell_of_the_table_tells_its_formula(page: Page) -> None:
    lab = Positions(page, "/positions")
    chart = page.locator(CHART.format("position_table"))
    page.mouse.move(*lab._place(chart, 4, 3))
    hover = page.locator(".hoverlayer text").first
    expect(hover).to_contain_text("position 3, dimension 4: sin(pos / 10000^(4/128)): 0.")


def test_every_picture_draws_something(page: Page) -> None:
    lab = Positions(page, "/positions")
    for name in ("as curves", "as a clock", "which are alike", "from one to another"):
        lab.choose(name)
        expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    for name in ("learned", "rotary", "ALiBi"):
        lab.choose(name)
        expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    lab.choose("none")
    expect(page.get_by_text("a bag of words")).to_be_visible()
    lab.choose("longer than trained")
    expect(page.get_by_text("This model has learned 512 positions")).to_be_visible()
