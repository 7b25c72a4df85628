"""A panel is the one matrix that picture, table and file show."""

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_lab.analysis.panel import COMBINES, Combine, difference, panel
from attention_lab.errors import InputError
from attention_lab.tracing.edits import ablate
from attention_lab.tracing.record import trace
from attention_lab.tracing.site import STAGES, Stage
from attention_lab.tracing.trace import Trace
from tests.factories import tiny_model

TEXT = "the cat sat on the mat"
ENCODER = tiny_model()
DECODER = tiny_model("decoder")
SITES = st.sampled_from(["encoder.0.self", "encoder.1.self"])


@pytest.fixture(scope="module")
def encoder() -> Trace:
    return trace(ENCODER, TEXT)


@pytest.fixture(scope="module")
def decoder() -> Trace:
    return trace(DECODER, TEXT)


@pytest.mark.parametrize("stage", STAGES)
def test_a_head_s_stage_is_the_trace_s_own_numbers(encoder: Trace, stage: Stage) -> None:
    shown = panel(encoder, "encoder.1.self", 2, stage)
    array = encoder["encoder.1.self"].stage(stage)
    np.testing.assert_array_equal(shown.values, array[2 if len(array) > 1 else 0])
    assert shown.values.dtype == np.float32
    assert [t.text for t in shown.rows] == ["[CLS]", *TEXT.split(), "[SEP]"]
    pairs = stage in ("scores", "mask", "masked_scores", "weights")
    assert shown.columns == (shown.rows if pairs else None)


@pytest.mark.parametrize("stage", ["weights", "masked_scores"])
def test_closed_cells_are_marked_and_no_number(decoder: Trace, stage: Stage) -> None:
    shown = panel(decoder, "decoder.0.self", 1, stage)
    future = np.triu(np.ones(shown.values.shape, bool), 1)
    np.testing.assert_array_equal(shown.blocked, future)
    np.testing.assert_array_equal(np.isnan(shown.values), future)


def test_scores_and_mask_show_closed_cells_too(decoder: Trace) -> None:
    scores = panel(decoder, "decoder.0.self", 1, "scores")
    assert scores.blocked is None
    assert np.isfinite(scores.values).all()
    mask = panel(decoder, "decoder.0.self", 1, "mask")
    np.testing.assert_array_equal(mask.values, np.tri(len(mask.rows)))


def test_heads_with_masks_of_their_own_show_their_own(encoder: Trace) -> None:
    n = len(encoder.tokens)
    masks = np.ones((4, n, n), bool)
    masks[2, :, 3] = False
    changed = trace(ENCODER, TEXT, mask=masks)
    for head in range(4):
        shown = panel(changed, "encoder.0.self", head)
        np.testing.assert_array_equal(shown.blocked, ~masks[head])
    # together they leave every cell open: none is grey
    everywhere = panel(changed, "encoder.0.self", 0, "weights", "max_heads")
    assert everywhere.blocked is not None
    assert not everywhere.blocked.any()


@given(site=SITES, head=st.integers(0, 3), combine=st.sampled_from(COMBINES[1:]))
def test_combined_weights(encoder: Trace, site: str, head: int, combine: Combine) -> None:
    found = encoder
    if combine.endswith("heads"):
        arrays = [found[site].weights[h] for h in range(4)]
    else:
        arrays = [found[s].weights[head] for s in ("encoder.0.self", "encoder.1.self")]
    if combine.startswith("mean"):
        expected = sum(a.astype(np.float64) for a in arrays) / len(arrays)
    else:
        expected = arrays[0]
        for array in arrays[1:]:
            expected = np.where(array > expected, array, expected)
    shown = panel(found, site, head, "weights", combine)
    np.testing.assert_allclose(shown.values, expected, atol=1e-7)


def test_layers_are_combined_within_one_kind_of_attention() -> None:
    model = tiny_model("encoder-decoder")
    found = trace(model, "the cat sat", target="a dog")
    shown = panel(found, "decoder.0.cross", 1, "weights", "mean_layers")
    expected = (found["decoder.0.cross"].weights[1] + found["decoder.1.cross"].weights[1]) / 2
    np.testing.assert_allclose(shown.values, expected, atol=1e-7)
    assert [t.text for t in shown.rows] == ["<s>", "a", "dog"]
    assert shown.columns is not None
    assert [t.text for t in shown.columns] == ["the", "cat", "sat", "</s>"]


@pytest.mark.parametrize(("stage", "rows"), [("k", "key"), ("v", "key"), ("q", "query")])
def test_rows_of_cross_attention_are_those_the_vectors_belong_to(stage: Stage, rows: str) -> None:
    found = trace(tiny_model("encoder-decoder"), "the cat sat", target="a dog")
    shown = panel(found, "decoder.0.cross", 0, stage)
    texts = {"key": ["the", "cat", "sat", "</s>"], "query": ["<s>", "a", "dog"]}[rows]
    assert [t.text for t in shown.rows] == texts
    assert len(shown.values) == len(texts)


@pytest.mark.parametrize("stage", STAGES)
def test_hiding_special_tokens_changes_no_value(stage: Stage) -> None:
    found, head = trace(ENCODER, "the cat [SEP] sat"), 3
    full = panel(found, "encoder.0.self", head, stage)
    hidden = panel(found, "encoder.0.self", head, stage, hide_special=True)
    keep = [1, 2, 4]  # [CLS] the cat [SEP] sat [SEP]
    assert [t.text for t in hidden.rows] == ["the", "cat", "sat"]
    expected = full.values[keep] if full.columns is None else full.values[np.ix_(keep, keep)]
    np.testing.assert_array_equal(hidden.values, expected)
    if hidden.columns is not None:
        assert hidden.columns == hidden.rows
    if hidden.blocked is not None:
        assert hidden.blocked.shape == hidden.values.shape


def test_difference_is_after_minus_before_and_grey_only_where_both_are_closed(
    encoder: Trace,
) -> None:
    after = trace(ENCODER, TEXT, mask="causal", edits=[ablate("encoder.0.self", 1)])
    a = panel(after, "encoder.1.self", 2)
    b = panel(encoder, "encoder.1.self", 2)
    shown = difference(a, b)
    expected = after["encoder.1.self"].weights[2] - encoder["encoder.1.self"].weights[2]
    np.testing.assert_allclose(shown.values, expected, atol=1e-7)
    assert shown.is_difference
    assert shown.signed
    assert shown.blocked is not None
    assert not shown.blocked.any()
    both = difference(a, panel(after, "encoder.0.self", 2))
    np.testing.assert_array_equal(both.blocked, a.blocked)
    np.testing.assert_array_equal(np.isnan(both.values), a.blocked)


def test_a_difference_of_unlike_things_is_refused(encoder: Trace, decoder: Trace) -> None:
    weights = panel(encoder, "encoder.0.self", 0)
    with pytest.raises(InputError, match="same stage"):
        difference(weights, panel(encoder, "encoder.0.self", 0, "scores"))
    with pytest.raises(InputError, match="same tokens"):
        difference(weights, panel(decoder, "decoder.0.self", 0))


@given(factor=st.floats(-1e6, 1e6, width=32))
def test_the_bound_is_the_largest_absolute_value(encoder: Trace, factor: float) -> None:
    shown = panel(encoder, "encoder.1.self", 0, "scores")
    shown = replace(shown, values=shown.values * np.float32(factor))
    largest = float(np.nanmax(np.abs(shown.values)))
    assert shown.bound == (largest or 1.0)  # a scale from 0 to 0 would be none


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("encoder.9.self", 0), "encoder.9.self"),
        (("encoder.0.self", 4), "heads 0 to 3"),
        (("encoder.0.self", -1), "heads 0 to 3"),
        (("encoder.0.self", 0, "colour"), "colour"),
        (("encoder.0.self", 0, "weights", "median"), "median"),
        (("encoder.0.self", 0, "scores", "mean_heads"), "Only weights"),
    ],
)
def test_what_there_is_not_is_one_clear_error(
    encoder: Trace, arguments: tuple[Any, ...], said: str
) -> None:
    unchecked = inspect.unwrap(panel)  # as outside the tests, where nobody checks the types first
    with pytest.raises(InputError, match=said):
        unchecked(encoder, *arguments)
