"""Explore in a real browser with a real model: type, see, switch, click, share the link."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from attention_lab.zoo import Model
from tests.browser.explore import Explore, NewPage, query

SENTENCE = ["[CLS]", "The", "animal", "didn", "'", "t", "cross", "the", "street", "because"]


@pytest.fixture(autouse=True)
def _needs(minilm: Model) -> None:
    """All of these look at the pulled model."""


def test_type_see_and_switch(page: Page) -> None:
    explore = Explore(page)
    assert explore.labels[:10] == SENTENCE
    explore.expect_heading("Layer 3, head 1: weights")
    assert explore.figure() | {"low": 0, "high": 1} == explore.figure()
    # the fact that this model is known for
    it, animal = explore.labels.index("it"), explore.labels.index("animal")
    said = explore.hover(it, animal)
    assert said.startswith("it looks at animal: ")
    assert float(said.split()[-1]) == pytest.approx(0.677, abs=0.001)

    explore.say("The cat saw the cat.")
    assert explore.labels == ["[CLS]", "The", "cat", "saw", "the", "cat", ".", "[SEP]"]
    assert query(page)["text"] == ["The cat saw the cat."]
    said = explore.hover(5, 2)  # the second cat, the first cat: each has a row of its own
    assert re.fullmatch(r"cat looks at cat: 0\.\d{6}", said), said

    for stage in ("q", "k", "v", "scores", "mask", "masked scores", "z", "weights"):
        explore.choose(stage)
        explore.expect_heading(f"Layer 3, head 1: {stage}")
    explore.choose("scores")
    assert query(page)["stage"] == ["scores"]
    figure = explore.figure()
    assert figure["low"] == -figure["high"]


def test_pickers_and_tiles_choose_the_same(page: Page) -> None:
    explore = Explore(page)
    explore.number("Layer (0 to 5)", 5)
    explore.number("Head (0 to 11)", 10)
    explore.expect_heading("Layer 5, head 10: weights")

    explore.click_tile(2, 7)
    explore.expect_heading("Layer 2, head 7: weights")
    expect(page.get_by_label("Layer (0 to 5)")).to_have_value("2")
    expect(page.get_by_label("Head (0 to 11)")).to_have_value("7")
    assert query(page) == {"layer": ["2"], "head": ["7"]}
    (frame,) = explore.overview.evaluate("chart => chart.layout.shapes")
    assert (frame["y0"], frame["x0"]) == (1.5, 6.5)

    explore.click_tile(2, 7)  # again: nothing else is chosen
    explore.expect_heading("Layer 2, head 7: weights")
    explore.number("Head (0 to 11)", 0)
    explore.click_tile(2, 7)  # and again, after the picker had chosen another
    explore.expect_heading("Layer 2, head 7: weights")
    for layer, head in ((0, 0), (5, 11), (0, 11)):
        explore.click_tile(layer, head)
        explore.expect_heading(f"Layer {layer}, head {head}: weights")
    x, y = explore.tile(3, 1)
    page.mouse.dblclick(x, y, delay=80)
    explore.answered()
    explore.expect_heading("Layer 3, head 1: weights")


def test_masks_and_switches_run_the_model_again(page: Page) -> None:
    explore = Explore(page)
    before = explore.hover(10, 2)
    explore.pick("Mask", "causal")
    expect(page.get_by_text("The model was run again with your changes")).to_be_visible()
    expect(explore.detail.locator(".legend")).to_contain_text("masked")
    assert explore.hover(2, 10) == "animal may not look at it: masked"
    explore.press("Put everything back")
    expect(explore.detail.locator(".legend")).to_have_count(0)
    assert explore.hover(10, 2) == before

    explore.number("Layer (0 to 5)", 2)
    explore.press("Switch the whole layer off")
    expect(page.get_by_text("The output moved")).to_be_visible()
    explore.number("Layer (0 to 5)", 3)
    assert explore.hover(10, 2) != before
    explore.choose("before")
    assert explore.hover(10, 2) == before
    explore.choose("after − before")
    figure = explore.figure()
    assert figure["low"] == -figure["high"]
    expect(explore.detail.locator(".colorbar, .cbtitle").first).to_contain_text("after − before")
    explore.press("Put everything back")
    expect(page.get_by_text("The output moved")).to_have_count(0)
    assert explore.hover(10, 2) == before


def test_the_link_shows_a_colleague_the_same(new_page: NewPage) -> None:
    first = Explore(new_page())
    first.say("Ein kleiner Hund & <b>猫</b> 😺 50% + 1 = ?")
    first.number("Layer (0 to 5)", 4)
    first.number("Head (0 to 11)", 9)
    first.choose("masked scores")
    first.pick("Mask", "window of k")
    first.number("k: the largest distance that is seen", 2)
    first.press("Switch this head off")
    first.page.get_by_text("Hide special tokens").click()
    first.answered()
    assert set(query(first.page)) == {
        *("text", "layer", "head", "stage", "mask", "width", "off", "hide")
    }

    second = Explore(new_page(), first.page.url)
    expect(second.page.get_by_label("Your sentence")).to_have_value(
        "Ein kleiner Hund & <b>猫</b> 😺 50% + 1 = ?"
    )
    second.expect_heading("Layer 4, head 9: masked scores")
    expect(second.page.get_by_label("k: the largest distance that is seen")).to_have_value("2")
    expect(second.page.get_by_text("Switch this head on")).to_be_visible()
    expect(second.page.get_by_label("Hide special tokens")).to_be_checked()
    assert second.labels == first.labels
    assert "[CLS]" not in second.labels
    assert second.hover(1, 2) == first.hover(1, 2)
    assert query(second.page) == query(first.page)
    expect(second.page.get_by_test_id("stAlert").filter(has_text="link")).to_have_count(0)


def test_two_people_at_once_see_their_own(new_page: NewPage) -> None:
    pages = [Explore(new_page()) for _ in range(2)]
    texts = ["The cat sat on the mat.", "A dog was too tired."]
    for explore, text in zip(pages, texts, strict=True):
        explore.page.get_by_label("Your sentence").fill(text)
    for explore, text in zip(pages, texts, strict=True):
        explore.answered()
        assert explore.labels == ["[CLS]", *text[:-1].split(), ".", "[SEP]"]


HOSTILE = (
    "<b>a</b> </script> $x$ &amp; *i* _j_ `k` :smile: :red[r] [l](http://m.n) "
    "<img src=x onerror=alert(1)> %{y}"
)


def test_hostile_text_is_drawn_as_typed(page: Page) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    explore = Explore(page)
    explore.say("<b> $x$ &amp; *i*")
    assert explore.labels == ["[CLS]", *"<b>$x$&", "amp", ";", "*", "i", "*", "[SEP]"]
    assert explore.hover(1, 3).startswith("< looks at >: ")
    assert explore.hover(4, 8).startswith("$ looks at amp: ")
    explore.say(HOSTILE)
    assert page.locator(".stPlotlyChart :is(img, b, a)").count() == 0
    page.goto(f"/?{urlencode({'stage': HOSTILE})}")
    explore.settle()
    notice = page.get_by_test_id("stAlert").filter(has_text="The link asks for")
    shown = (notice.text_content() or "").replace("\u2060", "")
    assert f"stage = {HOSTILE[:80]}, which" in shown
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert not dialogs


def test_many_tokens_are_all_named_on_hover(page: Page) -> None:
    numbers = " ".join(str(n % 10) for n in range(60))
    explore = Explore(page)
    explore.say(numbers)
    assert len(explore.labels) <= 40
    assert explore.hover(8, 4).startswith("7 looks at 3: ")
    assert explore.hover(35, 26).startswith("4 looks at 5: ")


WATCH = """() => {
    window.frames_ = [];
    const watch = () => {
        const seen = ['overview', 'detail'].map(key => {
            const places = [...document.querySelectorAll('.st-key-' + key)]
                .filter(place => place.getBoundingClientRect().height > 0);
            const top = Math.round(places[0]?.getBoundingClientRect().top);
            const image = `.st-key-${key} .heatmaplayer image`;
            return [places.length, top, document.querySelectorAll(image).length];
        });
        window.frames_.push(seen);
        window.watching_ = requestAnimationFrame(watch);
    };
    watch();
}"""


def test_the_old_picture_stays_until_the_new_one_is_there(page: Page) -> None:
    explore = Explore(page)
    page.evaluate(WATCH)
    explore.say("The animal was tired. " * 8)
    for stage in ("scores", "mask", "q", "weights"):
        explore.choose(stage)
    explore.click_tile(1, 2)
    explore.pick("Mask", "causal")
    frames = page.evaluate("cancelAnimationFrame(window.watching_), window.frames_")
    assert len(frames) > 20
    for picture in (0, 1):
        odd = [
            (number, frame[picture])
            for number, frame in enumerate(frames)
            if frame[picture][0] != 1 or frame[picture][2] < 1
        ]
        assert not odd
    tops = [frame[0][1] for frame in frames]
    assert set(tops) == {tops[0]}  # nothing above the pictures comes and goes
    assert page.locator(".old-picture").count() == 0
