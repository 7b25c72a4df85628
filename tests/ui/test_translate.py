"""The Translate page: its steps, candidates, pictures and messages are the engine's."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import plotly.io as pio
import pytest
from streamlit.testing.v1 import AppTest

import attention_lab as lab
from attention_lab.generation import greedy
from attention_lab.ui import runs
from attention_lab.zoo import native, store
from tests.factories import tiny_model
from tests.figures.helpers import read
from tests.ui.helpers import APP, SENTENCE

MODEL = tiny_model("encoder-decoder", seed=3)


@pytest.fixture(autouse=True)
def translator(home: Path) -> None:
    folder = store.ASSETS / "translator-en-zh"
    folder.mkdir(parents=True)
    assert MODEL.target_tokenizer is not None
    source, target = MODEL.tokenizer.to_str(), MODEL.target_tokenizer.to_str()
    state = MODEL.module.state_dict()
    native.write(folder, native.Parts(MODEL.config, state, source, MODEL.card, target))
    runs.search.cache.clear()


def page() -> AppTest:
    app = AppTest.from_file(APP, default_timeout=60)
    app.query_params["text"] = SENTENCE
    app.run()
    app.switch_page("pages/translate.py").run()
    assert not app.exception, app.exception
    return app


def figure(app: AppTest, part_of_alt: str) -> dict[str, Any]:
    found = [c for c in app.get("plotly_chart") if part_of_alt in c.proto.alt]
    assert len(found) == 1, [c.proto.alt for c in app.get("plotly_chart")]
    return read(pio.from_json(found[0].proto.spec, skip_invalid=False))


def said(app: AppTest) -> str:
    groups = (app.markdown, app.caption, app.info, app.warning, app.error, app.subheader)
    return "\n".join(e.value for g in groups for e in g).replace("\\", "").replace("\u2060", "")


def test_it_shows_what_the_model_writes_and_the_candidates_of_a_step() -> None:
    app, written = page(), greedy(MODEL, SENTENCE)
    assert written.text in said(app).replace(" ", "") or written.text in said(app)
    app.slider(key="step").set_value(3)
    app.run()
    bars = figure(app, "likeliest tokens at step 3")["data"][0]
    expected = [math.exp(value) for _id, value in written.steps[2].candidates]
    np.testing.assert_allclose(bars["x"][:-1], expected, rtol=1e-6)
    assert sum(bars["x"]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("part", ["encoder.self", "decoder.self", "decoder.cross"])
def test_attention_of_all_three_kinds(part: str) -> None:
    app = page()
    app.segmented_control(key="part").set_value(part)
    app.number_input(key="layer").set_value(1)
    app.number_input(key="head").set_value(1)
    app.selectbox(key="combine").set_value("none")
    app.slider(key="step").set_value(3)
    app.run()
    stack, kind = part.split(".")
    trace = lab.trace(MODEL, SENTENCE, target=greedy(MODEL, SENTENCE).ids)
    site = trace[f"{stack}.1.{kind}"]
    weights = np.where(site.mask[0], site.weights[1], np.nan)
    if stack == "decoder":  # at step 3 the decoder has read the start token and two more
        weights = weights[:3, :3] if kind == "self" else weights[:3]
    shown = figure(app, "attention weights as a heatmap")["data"][0]["z"]
    np.testing.assert_array_equal(shown, weights)


def test_each_view_renders_and_is_in_the_link() -> None:
    app = page()
    for view in ("alignment", "beam", "masks", "attention"):
        app.segmented_control(key="show").set_value(view)
        app.run()
        assert not app.exception
        assert app.query_params.get("show", "attention") == view


def test_a_typed_target_is_ranked() -> None:
    app = page()
    app.text_input(key="target").set_value("猫 追")
    app.run()
    table = app.dataframe[0].value
    trace = lab.trace(MODEL, SENTENCE, target="猫 追")
    assert trace.target_tokens is not None
    ids = [token.id for token in trace.target_tokens][1:]
    for row, id in enumerate(ids):
        logits = trace.logits_at(row)
        assert logits is not None
        exact = logits.astype(np.float64)
        expected = exact[id] - np.log(np.exp(exact).sum())
        assert table["log-probability"][row] == pytest.approx(expected, abs=1e-5)
        assert table["rank"][row] == 1 + (logits > logits[id]).sum()
    assert len(table) == len(ids) + 1  # and the end token


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "empty"), ("   ", "empty"), ("word " * 10_000, "characters"), ("a " * 900, "tokens")],
)
def test_impossible_sources_are_said_and_stay_in_the_box(text: str, message: str) -> None:
    app = page()
    app.text_input(key="text").set_value(text)
    app.run()
    assert not app.exception
    assert message in app.error[0].value
    assert app.text_input(key="text").value == text


@pytest.mark.parametrize("text", ["猫 追 老 鼠", "😀 cat", "</script><b>x</b> $x$ **y**", "مرحبا"])
def test_any_source_is_translated_without_a_traceback(text: str) -> None:
    app = page()
    app.text_input(key="text").set_value(text)
    app.run()
    assert not app.exception
    assert not app.error


def test_a_target_beyond_the_limit_is_said_and_stays_in_the_box() -> None:
    app = page()
    app.text_input(key="target").set_value("猫 " * 900)
    app.run()
    assert not app.exception
    assert "tokens" in app.error[0].value
    assert app.text_input(key="target").value == "猫 " * 900


def test_without_a_translator_the_page_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "ASSETS", tmp_path / "nothing")
    app = page()
    assert "train" in app.code[0].value
