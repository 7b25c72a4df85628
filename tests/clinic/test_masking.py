"""The mask the wrong way round, too late, or closed for a whole row: both sides."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attention_lab.clinic import masking
from attention_lab.clinic.exhibit import Function, passes
from attention_lab.clinic.subject import Subject

POLARITY, LATE, CLOSED = masking.exhibits()
FUTURE = torch.ones(4, 4, dtype=torch.bool).triu(1)


@pytest.mark.parametrize("attend", [masking.blocks_where_true, masking.adds_before_softmax])
def test_right_masks_are_pytorchs_causal_attention(
    attend: Function, random: torch.Generator
) -> None:
    q, k, v = torch.randn(3, 4, 8, generator=random)
    expected = scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
    torch.testing.assert_close(attend(q @ k.T / math.sqrt(8), FUTURE) @ v, expected)


def test_the_wrong_way_round_everybody_sees_only_the_future(random: torch.Generator) -> None:
    weights = masking.blocks_where_zero(torch.randn(4, 4, generator=random), FUTURE)
    assert (weights[:3].tril() == 0).all()
    torch.testing.assert_close(weights[:3].sum(-1), torch.ones(3))
    assert weights[3].isnan().all()


def test_the_exhibit_counts_the_future(subject: Subject) -> None:
    result = POLARITY.run(subject, 0)
    wrong, right = dict(result.wrong.numbers), dict(result.right.numbers)
    share, rows = "Attention that goes to later tokens", "Rows that are NaN"
    assert (wrong[share], wrong[rows]) == ("100.0%", "1")
    assert (right[share], right[rows]) == ("0.0%", "0")
    assert result.wrong.matrix.n_nan == subject.n
    expected = masking.blocks_where_true(subject.scores, masking._future(subject.n))
    np.testing.assert_array_equal(result.right.matrix.values, expected.numpy())


def test_a_mask_that_comes_late(random: torch.Generator) -> None:
    scores = torch.randn(4, 4, generator=random)
    weights = scores.softmax(-1)
    added = masking.adds_after_softmax(scores, FUTURE)
    assert (added[FUTURE] == -math.inf).all()
    assert torch.equal(added[~FUTURE], weights[~FUTURE])  # never shared out anew
    multiplied = masking.multiplies_after_softmax(scores, FUTURE)
    torch.testing.assert_close(multiplied.sum(-1), 1 - (weights * FUTURE).sum(-1))
    assert (multiplied.sum(-1)[:3] < 1).all()


def test_the_late_exhibit_counts_what_is_not_finite(subject: Subject) -> None:
    result = LATE.run(subject, 0)
    n = subject.n
    assert result.wrong.matrix.n_infinite == n * (n - 1) // 2
    assert result.right.matrix.n_infinite == result.right.matrix.n_nan == 0
    name = "Numbers of the output that are not finite"
    assert dict(result.right.numbers)[name] == "0"
    # every output but the last token's is spoilt, in all dimensions
    assert dict(result.wrong.numbers)[name] == str((n - 1) * subject.config.d_head)
    assert dict(result.right.numbers)["Sum of a row"] == "1.000"


@pytest.mark.parametrize(
    ("dtype", "billion"),
    [(torch.float32, 0.25), (torch.bfloat16, 0.25), (torch.float16, math.nan)],
)
def test_a_closed_row_in_each_number_format(dtype: torch.dtype, billion: float) -> None:
    scores = torch.arange(8.0).view(2, 4).to(dtype)
    mask = torch.tensor([[True] * 4, [False] * 4])
    assert masking.fills_with_infinity(scores, mask)[1].isnan().all()
    filled = masking.fills_with_a_billion(scores, mask)[1].float()
    assert np.allclose(filled.numpy(), billion, equal_nan=True)
    right = masking.zeros_in_closed_rows(scores, mask)
    assert (right[1] == 0).all()
    assert torch.equal(right[0], scores[0].softmax(-1))
    assert right.dtype == dtype


def test_a_billion_overflows_in_half_and_only_there() -> None:
    assert torch.tensor(-1e9, dtype=torch.float16) == -math.inf
    assert torch.tensor(-1e9, dtype=torch.bfloat16) > -1.1e9
    with pytest.raises(RuntimeError, match="cannot be converted"):
        torch.zeros(2).half().masked_fill(torch.tensor([True, False]), -1e9)


def test_the_exhibit_closes_one_row(subject: Subject) -> None:
    result = CLOSED.run(subject, 0)
    row = subject.n // 2
    wrong, right = result.wrong.matrix.values, result.right.matrix.values
    assert np.isnan(wrong[row]).all()
    assert (right[row] == 0).all()
    others = np.arange(subject.n) != row
    own = subject.site.weights[subject.head]
    np.testing.assert_allclose(wrong[others], own[others], atol=1e-6)
    np.testing.assert_allclose(right[others], own[others], atol=1e-6)
    assert [c.text for c in result.wrong.complaints] == [
        "value cannot be converted to type c10::Half without overflow"
    ]
    assert result.table is not None
    uniform = f"{1 / subject.n:.3f}"
    assert result.table.rows == (
        ("float32", "−1.0e+09", "NaN", uniform, "0"),
        ("float16", "−∞", "NaN", "NaN", "0"),
        ("bfloat16", "−1.0e+09", "NaN", uniform, "0"),
    )


def test_the_checks_tell_them_apart() -> None:
    for wrong in (
        masking.blocks_where_zero,
        masking.adds_after_softmax,
        masking.multiplies_after_softmax,
    ):
        assert not passes(masking.check_mask, wrong)
    for right in (masking.blocks_where_true, masking.adds_before_softmax):
        assert passes(masking.check_mask, right)
    assert not passes(masking.check_closed_row, masking.fills_with_infinity)
    assert not passes(masking.check_closed_row, masking.fills_with_a_billion)
    assert passes(masking.check_closed_row, masking.zeros_in_closed_rows)
