"""Explore for everybody: by keyboard alone, on narrow screens, by colours and words."""

import re

import pytest
from playwright.sync_api import Page, expect

from attention_lab.zoo import Model
from tests.browser.explore import Explore, NewPage, query


@pytest.fixture(autouse=True)
def _needs(minilm: Model) -> None:
    """All of these look at the pulled model."""


def focused(page: Page) -> str:
    """The name of the control that has the keyboard's focus."""
    name: str = page.evaluate(
        """() => {
            const e = document.activeElement;
            if (!['INPUT', 'BUTTON'].includes(e.tagName)) return '';
            return e.getAttribute('aria-label') || e.labels?.[0]?.innerText || e.innerText;
        }"""
    )
    return name.split("\n")[-1].strip()  # a button's icon is a word of its own


def reach(page: Page, name: str, key: str = "Tab") -> None:
    """Move the focus with one key until it stands on `name`."""
    seen = []
    for _step in range(60):
        page.keyboard.press(key)
        seen.append(focused(page))
        if seen[-1] == name:
            return
    pytest.fail(f"The key {key} does not lead to {name!r}, but to {seen}.")


def test_everything_by_keyboard_alone(page: Page) -> None:
    explore = Explore(page)
    keys = page.keyboard

    def press(*names: str) -> None:
        for name in names:
            keys.press(name)
        explore.answered()

    reach(page, "Your sentence")
    keys.press("Control+A")
    keys.type("The dog sat.")
    press("Enter")
    assert explore.labels == ["[CLS]", "The", "dog", "sat", ".", "[SEP]"]
    reach(page, "The animal …")
    reach(page, "老鼠追猫", "ArrowRight")
    press("Enter")
    expect(page.get_by_label("Your sentence")).to_have_value("老鼠追猫")

    reach(page, "Layer (0 to 5)")
    press("ArrowUp", "Enter")
    reach(page, "Head (0 to 11)")
    press("ArrowDown", "Enter")
    explore.expect_heading("Layer 4, head 0: weights")
    reach(page, "q")
    reach(page, "z", "ArrowRight")
    press("Enter")
    explore.expect_heading("Layer 4, head 0: z")
    reach(page, "Hide special tokens")
    press("Space")
    expect(page.get_by_text("Special tokens are left out of the picture")).to_be_visible()

    reach(page, "Switch this head off")
    press("Enter")
    reach(page, "after")
    reach(page, "before", "ArrowRight")
    press("Enter")
    expect(page.get_by_text("The model as it was trained, before your changes.")).to_be_visible()
    reach(page, "Show the numbers as a table")
    press("Space")
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    reach(page, "Download as CSV")

    reach(page, "Mask")
    keys.type("causal")
    press("Enter")
    assert query(page)["mask"] == ["causal"]
    reach(page, "Put everything back")
    press("Enter")
    assert not {"mask", "off"} & set(query(page))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1024])
def test_narrow_pages_have_no_sideways_scrolling(
    new_page: NewPage, width: int, scheme: str
) -> None:
    page = new_page(viewport={"width": width, "height": 768}, color_scheme=scheme)
    long = "Donaudampfschifffahrtsgesellschaftskapitän " * 3
    Explore(page, f"/?text={long}&mask=causal&off=encoder.0.self&table=true&stage=masked_scores")
    for element in ("document.documentElement", "document.querySelector('[data-testid=stMain]')"):
        wide, room = page.evaluate(f"[{element}.scrollWidth, {element}.clientWidth]")
        assert wide <= room
    beyond = page.evaluate(
        """() => [...document.querySelectorAll('[data-testid=stMain] :is(button, input, p, svg)')]
            .filter(e => e.getBoundingClientRect().right > innerWidth + 1
                && !e.closest('[data-testid=stDataFrame], .js-plotly-plot'))
            .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert beyond == []


def test_a_projector_shows_question_sentence_and_picture(new_page: NewPage) -> None:
    page = new_page(viewport={"width": 1024, "height": 768})
    explore = Explore(page)
    for place in (page.get_by_role("heading", level=1), page.get_by_label("Your sentence")):
        box = place.bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 768
    stages = page.get_by_role("radio").filter(has_text=re.compile("^(q|z)$")).all()
    boxes = [stage.bounding_box() for stage in stages]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] == boxes[1]["y"]  # all on one line
    _x, top = explore._place(explore.detail, 0, 0)
    assert top < 500


def contrast(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """Of two colours, as WCAG 2 defines it."""

    def luminance(colour: tuple[float, ...]) -> float:
        parts = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
            for c in (value / 255 for value in colour)
        ]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tokens_and_axes_can_be_read(new_page: NewPage, scheme: str) -> None:
    page = new_page(color_scheme=scheme)
    explore = Explore(page, "/?mask=causal")
    ground = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")

    def rgb(colour: str) -> tuple[float, ...]:
        return tuple(float(part) for part in re.findall(r"[\d.]+", colour)[:3])

    assert (sum(rgb(ground)) > 600) == (scheme == "light")
    for chart in (explore.overview, explore.detail):
        colours = chart.evaluate(
            """chart => [...chart.querySelectorAll('text')]
                .filter(e => !e.closest('.heatmap-label') && e.textContent)
                .map(e => [e.textContent, getComputedStyle(e).fill])"""
        )
        assert len(colours) > 10
        assert [text for text, fill in colours if contrast(rgb(fill), rgb(ground)) < 4.5] == []


def test_pictures_have_words_for_those_who_cannot_see_them(page: Page) -> None:
    explore = Explore(page, "/?combine=max_heads")
    figures = page.get_by_role("figure")
    expect(figures).to_have_count(2)
    names = [figure.get_attribute("aria-label") or "" for figure in figures.all()]
    assert "72 heads" in names[0]
    assert "Layer 3, maximum over all heads: weights" in names[1]
    explore.choose("scores")
    expect(page.get_by_role("figure").nth(1)).to_have_attribute(
        "aria-label", re.compile("Layer 3, head 1: scores")
    )
