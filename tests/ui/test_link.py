"""The link restores everything, and what is wrong in it becomes a default and a notice."""

from typing import Any

import numpy as np
import pytest

import attention_lab as lab
from tests.ui.conftest import MODELS
from tests.ui.helpers import SENTENCE, Explore

# Everything that a page can be set to, none of it a default.
STATE: dict[str, Any] = {
    "text": SENTENCE,
    "model": "smollm2",
    "layer": 7,
    "head": 2,
    "stage": "masked_scores",
    "mask": "window",
    "width": 3,
    "off": ["decoder.2.self", "decoder.5.self:1"],
    "view": "difference",
    "hide": True,
    "table": True,
}


def test_a_link_restores_everything_in_another_session() -> None:
    first = Explore().set(**STATE)
    link = first.link
    assert set(link) == set(STATE)
    second = Explore(link)
    for key, value in STATE.items():
        assert second.widget(key).value == value, key
    np.testing.assert_array_equal(second.values, first.values)
    assert second.link == link
    assert not second.app.warning


@pytest.mark.parametrize(
    ("key", "value"),
    [("combine", "max_layers"), ("layer", 0), ("head", 0), ("stage", "q"), ("mask", "none")],
)
def test_one_key_alone(key: str, value: Any) -> None:
    link = Explore().set(**{key: value}).link
    assert link == {key: str(value)}
    assert Explore(link).widget(key).value == value


def test_defaults_need_no_place_in_the_link() -> None:
    page = Explore().set(stage="q", layer=0)
    assert set(page.link) == {"stage", "layer"}
    assert page.set(stage="weights", layer=3).link == {}


def test_a_link_shows_what_the_engine_computes() -> None:
    page = Explore({"text": "a dog", "layer": "2", "head": "0", "mask": "causal"})
    expected = lab.trace(MODELS["minilm"], "a dog", mask="causal")["encoder.2.self"].weights[0]
    np.testing.assert_array_equal(np.nan_to_num(page.values), expected)


@pytest.mark.parametrize(
    ("key", "wrong", "default"),
    [
        ("model", "gpt-9", "minilm"),
        ("model", "../../etc/passwd", "minilm"),
        ("layer", "6", 3),
        ("layer", "-1", 3),
        ("layer", "two", 3),
        ("layer", "1e400", 3),
        ("head", "99999999999999999999", 1),
        ("head", "", 1),
        ("stage", "colour", "weights"),
        ("stage", "result; DROP", "weights"),
        ("combine", "median", "none"),
        ("mask", "<img src=x>", "own"),
        ("mask", "window:5", "own"),
        ("width", "-3", 4),
        ("width", "513", 4),
        ("view", "sideways", "after"),
        ("hide", "yes", False),
        ("table", "1", False),
    ],
)
def test_what_is_wrong_in_a_link_is_a_default_and_a_notice(
    key: str, wrong: str, default: Any
) -> None:
    page = Explore({key: wrong, "text": SENTENCE})
    if key not in ("width", "view"):  # these have a widget only while they matter
        assert page.widget(key).value == default
    assert page.app.session_state[key] == default
    (notice,) = page.app.warning
    assert notice.icon == ":material/link_off:"
    assert f"{key} = {' '.join(wrong.split())}" in page.texts
    assert len(page.charts) == 2
    assert key not in page.link
    page.set(stage="scores")
    assert not page.app.warning  # said once


def test_of_what_is_switched_off_the_right_part_is_kept() -> None:
    page = Explore({"off": ["encoder.1.self:2", "encoder.99.self", "encoder.0.self:<b>"]})
    assert page.widget("off").value == ["encoder.1.self:2"]
    assert page.link["off"] == "encoder.1.self:2"
    assert "encoder.99.self" in page.texts
    assert "encoder.0.self:<b>" in page.texts


def test_many_mistakes_are_one_notice() -> None:
    keys = ("model", "layer", "head", "mask", "stage")
    page = Explore(dict.fromkeys(keys, "x"))
    assert len(page.app.warning) == 1
    assert all(f"{key} = x" in page.texts for key in keys)


def test_a_notice_shows_markup_as_typed() -> None:
    page = Explore({"stage": "**[a](http://b.c)** $x$ :smile: <b>"})
    (notice,) = page.app.warning
    assert r"\*\*\[a\]\(http" in notice.value
    assert r"\$x\$" in notice.value
    assert ":smile:" not in notice.value  # a word joiner keeps it from becoming an icon


def test_unknown_keys_are_ignored() -> None:
    page = Explore({"utm_source": "mail", "embed": "false"})
    assert not page.app.warning
    assert len(page.charts) == 2


def test_a_link_with_a_text_that_cannot_be_used_keeps_the_rest() -> None:
    page = Explore({"text": "  ", "layer": "5", "stage": "q"})
    assert page.app.error
    page.set(text="a cat")
    assert page.widget("layer").value == 5
    assert page.widget("stage").value == "q"
