"""The Masks page on tiny models of every kind: the numbers are the engine's, edits are computed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st

import attention_lab as lab
from attention_lab.analysis.numbers import next_tokens, token_shifts
from attention_lab.generation import greedy, greedy_changed
from attention_lab.ui import cells, mask_control
from attention_lab.ui.cells import MOST, Cell
from attention_lab.ui.masks import VIEWS
from tests.ui.conftest import MODELS
from tests.ui.helpers import SENTENCE, run, said
from tests.ui.masks import (
    TRANSLATOR,
    N,
    choose,
    figure,
    link,
    mask,
    press,
    ship_translator,
    visit,
    weights,
)


@pytest.fixture(autouse=True)
def _translator(home: Path) -> None:
    ship_translator()


def test_the_first_visit_shows_the_models_own_mask_and_weights() -> None:
    app = visit()
    assert app.title[0].value == "Who may look at whom?"
    expected = lab.trace(MODELS["minilm"], SENTENCE)["encoder.3.self"]
    assert mask(app).all()
    np.testing.assert_array_equal(weights(app), expected.weights[1])
    assert "This is the model's own mask" in said(app)
    assert all(chart.proto.alt for chart in app.get("plotly_chart"))
    assert set(app.query_params) == {"text"}


PRESETS: dict[str, tuple[dict[str, Any], str]] = {
    "none": ({}, "none"),
    "causal": ({}, "causal"),
    "padding": ({}, "padding"),
    "causal+padding": ({}, "causal+padding"),
    "window": ({"width": 2}, "window:2"),
    "causal+window": ({"width": 3}, "causal+window:3"),
    "dilated": ({"width": 2, "apart": 3}, "dilated:2:3"),
    "prefix": ({"prefix": 5}, "prefix:5"),
    "blocks": ({"blocks": "3, 5"}, "blocks:3,5"),
    "global": ({"globals": "0,7"}, "global:0,7"),
    "window|global": ({"width": 1, "globals": "2"}, "window:1|global:2"),
}


def test_every_preset_is_tested_and_has_a_meaning() -> None:
    assert PRESETS.keys() | {"own"} == set(mask_control.MASKS)
    sentences = set()
    for name in mask_control.MASKS:
        st.session_state["mask"] = name
        sentences.add(mask_control.meaning())
    assert len(sentences) == len(mask_control.MASKS)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_run_and_goes_along_to_explore(preset: str) -> None:
    app = visit()
    numbers, name = PRESETS[preset]
    choose(app, mask=preset, **numbers)
    trace = lab.trace(MODELS["minilm"], SENTENCE, mask=name)
    site = trace["encoder.3.self"]
    np.testing.assert_array_equal(mask(app), site.mask[0])
    np.testing.assert_array_equal(weights(app), site.weights[1])
    before = lab.trace(MODELS["minilm"], SENTENCE)
    bars = figure(app, "How far the output of each token moved")["data"][0]["y"]
    np.testing.assert_allclose(bars, 1 - token_shifts(before.hidden, trace.hidden)["cosine"])
    assert f'mask="{name}"' in said(app)
    assert app.session_state["mask"] == preset
    state = link(app)
    app.switch_page("pages/explore.py")
    run(app)
    assert app.selectbox(key="mask").value == preset
    np.testing.assert_array_equal(weights(app), site.weights[1])
    if not numbers:
        return
    again = visit(**state)
    np.testing.assert_array_equal(weights(again), site.weights[1])
    assert not again.warning


def test_cells_are_turned_over_run_and_turned_back() -> None:
    app = visit(mask="causal")
    choose(app, query=2, key=9)
    press(app, "turn")
    choose(app, query=5, key=1)
    press(app, "turn")
    trace = lab.trace(MODELS["minilm"], SENTENCE, mask="causal^cells:2.9,5.1")
    np.testing.assert_array_equal(mask(app), trace["encoder.3.self"].mask[0])
    np.testing.assert_array_equal(weights(app), trace["encoder.3.self"].weights[1])
    assert mask(app)[2, 9]
    assert not mask(app)[5, 1]
    assert link(app)["cells"] == "encoder.self:2.9,5.1"
    marks = figure(app, "The mask as a heatmap")["data"][3]
    assert sorted(zip(marks["y"], marks["x"], strict=True)) == [(2, 9), (5, 1)]
    press(app, "turn")
    assert link(app)["cells"] == "encoder.self:2.9"
    press(app, "undo")
    np.testing.assert_array_equal(mask(app), np.tri(N, dtype=bool))
    press(app, "back")
    assert mask(app).all()
    assert "cells" not in app.query_params


def test_the_mask_is_computed_and_not_painted() -> None:
    """Field note 9: a row whose cells are turned over shares its attention among the others."""
    app = visit(cells="encoder.self:4.0,4.1,4.2")
    row = weights(app)[4]
    assert (row[:3] == 0).all()
    assert row.sum() == pytest.approx(1, abs=1e-5)


def test_a_bidirectional_model_has_no_triangle_and_a_causal_one_has() -> None:
    """Field note 9 again."""
    assert mask(visit()).all()
    own = mask(visit(model="smollm2"))
    np.testing.assert_array_equal(own, np.tri(len(own), dtype=bool))


def test_scores_stay_as_they_were_under_another_mask() -> None:
    """Field note 18: the mask comes after the scores."""
    model = MODELS["minilm"]
    before, after = (lab.trace(model, SENTENCE, mask=name) for name in (None, "causal^cells:1.9"))
    site = "encoder.0.self"  # in the first layer nothing else has changed yet
    np.testing.assert_array_equal(before[site].scores, after[site].scores)
    assert np.isinf(after[site].masked_scores).any()


def test_before_after_and_difference_on_one_scale() -> None:
    app = visit(mask="causal", view="difference")
    own, now = (
        lab.trace(MODELS["minilm"], SENTENCE, mask=name)["encoder.3.self"].weights[1]
        for name in (None, "causal")
    )
    np.testing.assert_allclose(weights(app), now - own, atol=1e-7)
    shown = figure(app, "weights, as a heatmap")["data"][0]
    assert (shown["zmin"], shown["zmax"]) == (-1, 1)
    for view in ("before", "after"):
        choose(app, view=view)
        shown = figure(app, "weights, as a heatmap")["data"][0]
        assert (shown["zmin"], shown["zmax"]) == (0, 1)


def test_a_decoder_shows_the_next_tokens_before_and_after() -> None:
    app = visit(model="smollm2", mask="window", width="1")
    model = MODELS["smollm2"]
    before, after = (lab.trace(model, SENTENCE, mask=name) for name in (None, "window:1"))
    found = next_tokens(before, after)
    bars = figure(app, "likeliest next tokens")["data"]
    np.testing.assert_allclose(bars[0]["x"], [each.before for each in found], atol=1e-6)
    np.testing.assert_allclose(bars[1]["x"], [each.after for each in found], atol=1e-6)
    assert len({each.id for each in found}) == len(found)


@pytest.mark.parametrize("part", ["encoder.self", "decoder.self", "decoder.cross"])
def test_the_translator_has_three_masks_and_another_translation(part: str) -> None:
    place = {"model": "translator-en-zh", "part": part, "layer": "1", "head": "2"}
    app = visit(**place, cells=f"{part}:1.0,2.0,2.1")
    ids = greedy(TRANSLATOR, SENTENCE).ids
    own = {"encoder.self": "none", "decoder.self": "causal", "decoder.cross": "none"}[part]
    edit = lab.mask(part.replace(".", ".*."), f"{own}^cells:1.0,2.0,2.1")
    trace = lab.trace(TRANSLATOR, SENTENCE, ids, edits=[edit])
    site = trace[part.replace(".", ".1.")]
    np.testing.assert_array_equal(mask(app), site.mask[0])
    np.testing.assert_array_equal(weights(app), site.weights[2])
    written = greedy_changed(TRANSLATOR, SENTENCE, edits=[edit])
    assert " ".join(written.text.split()) in said(app)
    for name in trace.sites:  # the other kinds of attention keep their masks
        stack, _layer, kind = name.split(".")
        if f"{stack}.{kind}" != part:
            plain = lab.trace(TRANSLATOR, SENTENCE, ids)[name].mask
            np.testing.assert_array_equal(trace[name].mask, plain)


def test_every_view_has_its_formula_and_its_code() -> None:
    app = visit(mask="causal")
    for view in VIEWS:
        choose(app, masks=view)
        assert app.latex, view
        assert [code for code in app.code if "def " in code.value], view


HOSTILE = {
    "cells": (
        *("1.2", "encoder.self", "encoder.self:", "encoder.self:1", "decoder.self:1.2", ";"),
        *("encoder.self:1.2,", "encoder.self:-1.2", "encoder.self:1.99999", "x" * 100_000),
        *("encoder.self:" + ",".join(f"{i}.{j}" for i in range(20) for j in range(20)), "<b>$x$"),
        *("encoder.self:١.٢", "encoder.self:1.2;" * 3000, "encoder.self:" + "1.1," * 3000),
    ),
    "mask": ("window:3", "block", "own "),
    "masks": ("nothing", "edit;", ""),
    "width": ("-1", "513", "1e9"),
    "apart": ("0", "65", "x"),
    "prefix": ("-1", "9999"),
    "blocks": ("0", "3,,4", "9" * 5000, "1," * 50_000, "a", "3|none"),
    "globals": ("-1", "1.5", "0+none", "9999999"),
    "view": ("sideways",),
}


@pytest.mark.parametrize("number", range(max(map(len, HOSTILE.values()))))
def test_a_hostile_link_is_a_default_and_a_notice(number: int) -> None:
    wrong = {key: values[number % len(values)] for key, values in HOSTILE.items()}
    app = visit(**wrong)
    assert mask(app).all()
    assert len(app.get("plotly_chart")) == 2
    assert not set(link(app)) & (set(wrong) - {"masks"})
    (warning,) = app.warning  # the other keys are said on Explore, which reads them before
    assert f"cells = {' '.join(wrong['cells'][:80].split())}" in said(app)
    assert len(warning.value) < 1000
    assert not app.error
    for key, default in {"width": 4, "apart": 2, "prefix": 4, "blocks": "4,4"}.items():
        assert app.session_state[key] == default


def test_a_sentence_that_the_batch_does_not_have() -> None:
    app = visit(masks="padding", sentence="7")
    assert not app.error
    assert app.session_state["sentence"] == 1


def test_cells_outside_of_the_sentence_do_nothing_and_are_said() -> None:
    app = visit(cells="encoder.self:1.2,40.3,2.63")
    trace = lab.trace(MODELS["minilm"], SENTENCE, mask="none^cells:1.2")
    np.testing.assert_array_equal(weights(app), trace["encoder.3.self"].weights[1])
    assert "2 turned cells lie outside" in said(app)


def test_cells_of_another_model_are_forgotten() -> None:
    app = visit(cells="encoder.self:1.2")
    choose(app, model="smollm2")
    assert "cells" not in app.query_params
    own = mask(app)
    np.testing.assert_array_equal(own, np.tri(len(own), dtype=bool))
    assert not app.warning


@pytest.mark.parametrize("typed", ["", "a", "0", "3;4", "1" * 200])
def test_numbers_that_are_none_are_said_and_the_default_is_used(typed: str) -> None:
    app = visit(mask="blocks")
    choose(app, blocks=typed)
    assert "no whole numbers" in said(app)
    trace = lab.trace(MODELS["minilm"], SENTENCE, mask=f"blocks:{mask_control.BLOCKS}")
    np.testing.assert_array_equal(weights(app), trace["encoder.3.self"].weights[1])


def test_texts_are_shown_as_typed() -> None:
    text = "<b>the</b> **cat** :smile: $x$ `sat` </script>"
    app = visit(text=text, text2="*a* $b$", mask="causal")
    for view in VIEWS:
        choose(app, masks=view)
        assert not app.error
        assert len(app.get("plotly_chart")) >= 1


@pytest.mark.parametrize("text", ["a", "the " * 200, "猫", "the the the"])
def test_short_long_and_repeated_texts(text: str) -> None:
    app = visit(text=text, mask="causal")
    for view in VIEWS:
        choose(app, masks=view)
        assert not app.error, view


def test_an_empty_text_is_a_message() -> None:
    app = visit(mask="causal")
    choose(app, text="  ")
    assert "empty" in app.error[0].value
    choose(app, text="the cat")
    assert mask(app).shape == (4, 4)


def test_cells_survive_their_link() -> None:
    parts = ("encoder.self", "decoder.cross")
    some = (Cell("decoder.cross", 0, 4), Cell("encoder.self", 2, 5), Cell("encoder.self", 3, 1))
    assert cells.read(cells.write(some), parts) == tuple(sorted(some))
    assert cells.read("", parts) == ()
    many = tuple(sorted(Cell("encoder.self", i // 20, 100 + i % 20) for i in range(MOST)))
    assert cells.read(cells.write(many), parts) == many
