"""Numbers about panels and outputs, against values computed to fifty digits or by hand."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_lab.analysis.numbers import (
    as_table,
    closed_rows,
    entropy,
    next_token,
    output_shift,
    row_statistics,
)
from attention_lab.analysis.panel import Panel, difference, panel
from attention_lab.tokens import Token
from attention_lab.tracing.edits import ablate
from attention_lab.tracing.record import trace
from tests.factories import tiny_model

TEXT = "the cat sat on the mat"
DECODER = tiny_model("decoder")


def exact_entropy(row: np.ndarray) -> float:
    """-Σ w log2 w of the very float32 numbers, to fifty digits."""
    with localcontext(prec=50):
        numbers = [Decimal(float(w)) for w in row if w > 0]
        return float(-sum(w * w.ln() for w in numbers) / Decimal(2).ln())


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=30))
def test_entropy_in_bits(weights: list[float]) -> None:
    row = np.array(weights, np.float32)
    assert entropy(row[None])[0] == pytest.approx(exact_entropy(row), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("row", "bits"),
    [([1, 0, 0, 0], 0), ([0.25] * 4, 2), ([0.5, 0.5, 0, np.nan], 1), ([0] * 4, 0)],
)
def test_entropy_of_rows_one_knows(row: list[float], bits: float) -> None:
    assert entropy(np.array([row], np.float32)) == pytest.approx([bits])


def a_panel(values: list[list[float]], **changes: object) -> Panel:
    array = np.array(values, np.float32)
    rows = tuple(Token(i, text, i, i + 1) for i, text in enumerate("abcdef"[: len(array)]))
    columns = tuple(Token(i, text, i, i + 1) for i, text in enumerate("uvwxyz"[: array.shape[1]]))
    blocked = np.isnan(array)
    return replace(Panel("weights", array, blocked, rows, columns), **changes)  # type: ignore[arg-type]


def test_statistics_of_rows_count_open_cells_only() -> None:
    nan = np.nan
    table = row_statistics(a_panel([[0.5, 0.5, nan], [0.125, 0.375, 0.5], [nan, nan, nan]]))
    assert list(table["token"]) == ["a", "b", "c"]
    np.testing.assert_allclose(table["smallest"], [0.5, 0.125, nan])
    np.testing.assert_allclose(table["largest"], [0.5, 0.5, nan])
    np.testing.assert_allclose(table["mean"], [0.5, 1 / 3, nan])
    bits = [1, -(0.125 * math.log2(0.125) + 0.375 * math.log2(0.375) - 0.5), 0]
    np.testing.assert_allclose(table["entropy"], bits)


def test_only_rows_of_weights_have_an_entropy() -> None:
    signed = a_panel([[-1.5, 2.0, 0.25]], stage="scores", blocked=None)
    table = row_statistics(signed)
    assert "entropy" not in table
    assert table.loc[0, ["smallest", "largest", "mean"]].tolist() == [-1.5, 2.0, 0.25]
    assert "entropy" not in row_statistics(a_panel([[0.5, -0.5]], is_difference=True))


@pytest.mark.parametrize(
    "values", [[[0.9, 0.8], [0.5, 0.5]], [[0.25, 0.25], [0.5, 0.5]]], ids=["maximum", "hidden"]
)
def test_rows_that_do_not_sum_to_1_have_no_entropy(values: list[list[float]]) -> None:
    """The maximum over heads, and rows without their special tokens, are no distributions."""
    assert "entropy" not in row_statistics(a_panel(values))


def test_the_table_is_the_picture_with_repeated_tokens_apart() -> None:
    shown = panel(trace(tiny_model(), TEXT), "encoder.0.self", 1)
    table = as_table(shown)
    np.testing.assert_array_equal(table.to_numpy(), shown.values)
    assert list(table.columns) == list(table.index)
    assert [name for name in table.index if name.endswith(" the")] == ["1 the", "5 the"]
    vectors = as_table(panel(trace(tiny_model(), TEXT), "encoder.0.self", 1, "q"))
    assert list(vectors.columns) == ["0", "1", "2", "3"]


def test_closed_rows_are_those_that_may_look_at_nothing() -> None:
    nan = np.nan
    assert closed_rows(a_panel([[nan, nan], [nan, 1], [nan, nan]])) == [0, 2]
    assert closed_rows(a_panel([[0.0, 0.0]], blocked=None)) == []
    n = 8
    mask = np.tri(n, k=-1, dtype=bool)  # the first token sees nothing, itself neither
    found = trace(tiny_model(), TEXT, mask=mask)
    shown = panel(found, "encoder.0.self", 0)
    assert closed_rows(shown) == [0]
    assert closed_rows(difference(shown, shown)) == [0]
    np.testing.assert_array_equal(found["encoder.0.self"].weights[:, 0], 0)


def test_nothing_changed_moves_nothing() -> None:
    shift = output_shift(trace(DECODER, TEXT), trace(DECODER, TEXT))
    assert (shift.largest, shift.divergence) == (0, 0)
    assert shift.cosine == pytest.approx(1)
    assert shift.next_before == shift.next_after


def test_how_far_the_output_moved_against_torch() -> None:
    before = trace(DECODER, TEXT)
    after = trace(DECODER, TEXT, edits=[ablate("decoder.0.self"), ablate("decoder.1.self", 2)])
    shift = output_shift(before, after)
    a = torch.from_numpy(before.hidden.copy()).double()
    b = torch.from_numpy(after.hidden.copy()).double()
    assert shift.largest == pytest.approx((a - b).abs().max().item())
    cosine = torch.nn.functional.cosine_similarity(a, b, dim=1).min().item()
    assert shift.cosine == pytest.approx(cosine)
    assert before.logits is not None
    assert after.logits is not None
    p = torch.from_numpy(before.logits[-1].copy()).double().log_softmax(-1)
    q = torch.from_numpy(after.logits[-1].copy()).double().log_softmax(-1)
    nats = torch.nn.functional.kl_div(q, p, log_target=True, reduction="sum").item()
    assert shift.divergence == pytest.approx(nats / math.log(2), rel=1e-6)
    assert shift.next_before == p.argmax().item()
    assert shift.next_after == q.argmax().item()


def test_a_model_without_logits_has_no_next_token() -> None:
    found = trace(tiny_model(), TEXT)
    assert next_token(found) is None
    shift = output_shift(found, trace(tiny_model(), TEXT, mask="causal"))
    assert shift.divergence is None
    assert shift.largest > 0


def test_the_next_token_s_probabilities_are_a_softmax_of_a_position() -> None:
    found = trace(DECODER, TEXT)
    assert found.logits is not None
    for position in (0, 3, -1):
        expected = torch.from_numpy(found.logits[position].copy()).double().softmax(-1).numpy()
        probabilities = next_token(found, position)
        assert probabilities is not None
        np.testing.assert_allclose(probabilities, expected, rtol=1e-5)
        assert probabilities.sum() == pytest.approx(1)
