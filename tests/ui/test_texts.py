"""Whatever is typed: a clear message or a correct picture, and the text stays in the box."""

import pytest

from tests.ui.helpers import Explore

GOOD = {
    "html": "<b>the cat</b> <script>alert(1)</script> <img src=x onerror=alert(1)>",
    "markdown": "**the** _cat_ `sat` # on [the](http://mat) ![x](y) | a | b | ~~c~~ :smile:",
    "latex": "$x^2$ \\frac{1}{2} $$\\int$$ \\(a\\)",
    "template": "${7*7} {{7*7}} %{x} {name} {0} %s",
    "right-to-left": "الكلب يطارد القطة \u202eabc\u202c",
    "emoji": "😀 👨\u200d👩\u200d👧\u200d👦 🇩🇪 👍🏽",
    "combining": "a\u0301\u0327e\u0301 Z\u0351\u036b\u0343\u036a\u0302\u036b",
    "control": "the\x00cat\x07sat\x1b[31m on\x7f",
    "line breaks": "the cat\nsat\r\non\tthe mat",
    "invisible": "the\u200bcat\ufeff \u00adsat",
    "one letter": "a",
    "special tokens": "[CLS] the [SEP] [MASK] <s> </s> [PAD]",
    "repeated": "the " * 60,
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD.keys())
@pytest.mark.parametrize("model", ["minilm", "smollm2"])
def test_a_picture(text: str, model: str) -> None:
    page = Explore({"model": model}).set(text=text)
    assert page.widget("text").value == text
    assert len(page.charts) == 2
    assert not page.app.error
    ticks = page.figure(1)["layout"]["yaxis"]["tickvals"]
    assert ticks == list(range(0, len(page.values), ticks[1] if len(ticks) > 1 else 1))
    assert len(page.labels) == len(ticks)
    assert not any(set(label) & set("<>$\n") for label in page.labels)
    again = Explore(page.link)
    assert again.widget("text").value == text
    assert again.labels == page.labels


@pytest.mark.parametrize(
    "text",
    ["", " ", " \t \n ", "\u3000\u3000", "x" * 2_001, "猫" * 100_000, "the cat " * 12_500],
    ids=["empty", "space", "blank", "wide", "2,001", "100,000 Chinese", "100,000"],
)
def test_a_message(text: str) -> None:
    page = Explore().set(stage="scores", text=text)
    assert page.widget("text").value == text
    (error,) = page.app.error
    assert "empty" in error.value if len(text) < 10 else f"{len(text):,}" in error.value
    assert not page.charts
    assert "text" not in page.link  # nobody could use it
    page.set(text="the cat")  # and the page goes on where it was
    assert page.widget("stage").value == "scores"
    assert len(page.charts) == 2


def test_the_limit_is_the_server_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_LAB_CHARACTERS", "10")
    assert not Explore({"text": "a" * 10}).app.error
    assert "at most 10 are allowed" in Explore({"text": "a" * 11}).texts


@pytest.mark.parametrize("text", [GOOD["html"], GOOD["markdown"], GOOD["latex"]])
def test_what_is_typed_becomes_no_markup_anywhere(text: str) -> None:
    page = Explore({"text": text, "off": "encoder.0.self"}).set(table=True)
    app = page.app
    written = [e.value for g in (app.markdown, app.caption, app.info, app.error) for e in g]
    assert not any("alert(1)" in value or "smile" in value for value in written)
    assert all(not getattr(e.proto, "allow_html", False) for e in app.markdown)
