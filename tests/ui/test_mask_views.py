"""The laboratories of the Masks page: padding, conventions, closed rows, leaks, cost."""

from pathlib import Path

import numpy as np
import pytest

import attention_lab as lab
from attention_lab.analysis.leak import leak
from attention_lab.analysis.mask_cost import cost_table
from attention_lab.analysis.padding import padding_study
from tests.ui.conftest import MODELS
from tests.ui.helpers import SENTENCE, said
from tests.ui.masks import N, choose, figure, ship_translator, visit


@pytest.fixture(autouse=True)
def _translator(home: Path) -> None:
    ship_translator()


def test_padding_shows_a_real_batch() -> None:
    app = visit(masks="padding", text2="the cat", text3="a dog sat on the mat")
    texts = [SENTENCE, "the cat", "a dog sat on the mat"]
    study = padding_study(MODELS["minilm"], texts)
    real = figure(app, "padding mask of the batch")["data"][0]["z"]
    np.testing.assert_array_equal(real, study.padding[:, 0, 0])
    both = figure(app, "mask of one sentence")["data"][0]["z"]
    np.testing.assert_array_equal(both, study.both[1, 0])  # the shortest one
    assert f"(3, 1, 1, {N})" in said(app)
    assert f"({N}, {N})" in said(app)
    assert f"(3, 5, {N}, {N})" in said(app)
    table = app.dataframe[0].value
    assert table["padding"].tolist() == [0, N - 4, N - 8]
    choose(app, text2=" ", text3="")
    assert "Type a second sentence" in said(app)


@pytest.mark.parametrize("model", ["smollm2", "translator-en-zh"])
def test_padding_on_other_kinds(model: str) -> None:
    app = visit(masks="padding", model=model)
    assert len(app.dataframe[0].value) == 3
    assert "rounding" in said(app)


@pytest.mark.parametrize(
    ("model", "name"),
    [("minilm", "own"), ("minilm", "window"), ("smollm2", "own"), ("translator-en-zh", "causal")],
)
def test_conventions(model: str, name: str) -> None:
    app = visit(masks="conventions", model=model, mask=name)
    for way in ("True = may attend", "True = blocked", "−∞ = blocked", "−1e9 = blocked"):
        assert way in said(app)
    open_text = [
        figure(app, f"convention {w}")["data"][0]["text"][0][0]
        for w in ("True = may attend", "True = blocked", "added, −∞", "added, −1e9")
    ]
    assert open_text == ["1", "0", "0", "0"]
    assert "wrong way round in every layer" in said(app)
    assert "moved" in said(app)
    choose(app, mixup="added")
    assert "Rows of NaN: 0" in said(app)


def test_the_whole_model_is_run_the_wrong_way_round() -> None:
    app = visit(masks="conventions", mask="causal")
    own = lab.trace(MODELS["minilm"], SENTENCE, mask="causal")
    wrong = lab.trace(MODELS["minilm"], SENTENCE, mask="causal^none")
    largest = np.abs(own.hidden.astype(float) - wrong.hidden).max()
    assert f"the largest change of a number is {largest:.3f}" in said(app)


@pytest.mark.parametrize("model", ["minilm", "smollm2", "translator-en-zh"])
def test_a_row_without_any_key(model: str) -> None:
    app = visit(masks="closed", model=model)
    shown = figure(app, "closed row in three ways")
    values = shown["data"][0]["z"]
    n = len(values[0])
    assert np.isnan(values[0]).all()
    np.testing.assert_allclose(values[1], 1 / n, rtol=1e-5)
    assert (values[2] == 0).all()
    assert "NaN" in [each.get("name") for each in shown["data"]]
    assert "the output has 0 numbers that are NaN" in said(app)


def test_the_leak_test_on_the_present_mask() -> None:
    app = visit(masks="leak", mask="causal", place="8")
    assert "Passed: no output before it moved" in said(app)
    choose(app, mask="none")
    assert "A leak: 8 outputs before it moved" in said(app)
    model, tokens = MODELS["minilm"], lab.trace(MODELS["minilm"], SENTENCE).tokens
    new = next(t.id for t in tokens if not t.special and t.id != tokens[8].id)
    found = leak(model, tokens.ids, 8, new, mask="none")
    shown = figure(app, "change of each token's output")["data"][0]["z"]
    np.testing.assert_allclose(shown, np.where(found.layers == 0, np.nan, found.layers))
    one = visit(masks="leak", mask="causal", place="8", cells="encoder.self:3.8")
    assert "A leak: 5 outputs before it moved" in said(one)


@pytest.mark.parametrize("part", ["encoder.self", "decoder.self", "decoder.cross"])
def test_the_leak_test_of_a_translator(part: str) -> None:
    app = visit(masks="leak", model="translator-en-zh", part=part)
    passes = part.startswith("decoder")
    assert ("Passed" in said(app)) == passes
    assert ("A leak" in said(app)) != passes


def test_costs_are_counted() -> None:
    app = visit(masks="cost", mask="window", width="2")
    table = app.dataframe[0].value
    expected = cost_table("window:2", (N, 128, 512, 2048))
    assert table["tokens"].tolist() == [N, 128, 512, 2048]
    assert table["cells kept"].tolist() == [f"{x:.1%}" for x in expected["cells"]]
    kept = sum(abs(q - k) <= 2 for q in range(N) for k in range(N))
    assert f"It keeps {kept} of {N * N} cells" in said(app).replace("it keeps", "It keeps")
    assert "22 of 64 blocks" in said(app)  # the diagonal and its neighbours
