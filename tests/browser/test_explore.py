"""Explore in a real browser with a real model: type, see, switch, click, share the link."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from attention_lab.zoo import Model
from tests.browser.explore import Explore

NewPage = Callable[..., Page]
SENTENCE = ["[CLS]", "The", "animal", "didn", "'", "t", "cross", "the", "street", "because"]


@pytest.fixture(autouse=True)
def _needs(minilm: Model) -> None:
    """All of these look at the pulled model."""


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


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
