"""Heads that meet heads, view after transpose, heads that do not divide: both sides."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from attention_lab.clinic import shapes
from attention_lab.clinic.exhibit import passes, said
from attention_lab.clinic.shape_errors import explain
from attention_lab.clinic.subject import Subject
from attention_lab.model.attention import merge_heads

HEADS, VIEW, DIVIDE = shapes.exhibits()


@pytest.mark.parametrize("n_heads", [1, 3, 5])  # five tokens: as many heads as tokens too
def test_tokens_meet_tokens_as_in_pytorch(n_heads: int, random: torch.Generator) -> None:
    q, k, v = torch.randn(3, 2, n_heads, 5, 4, generator=random)  # batch, head, length, d
    x = torch.stack([q, k, v]).permute(1, 3, 0, 2, 4).flatten(2)
    weights, out = shapes.tokens_meet_tokens(x, n_heads)
    assert weights.shape == (2, n_heads, 5, 5)
    expected = scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    torch.testing.assert_close(out, expected)


@pytest.mark.parametrize("n_heads", [2, 5])
def test_where_heads_meet_heads_no_token_sees_another(
    n_heads: int, random: torch.Generator
) -> None:
    x = torch.randn(1, 5, 3 * n_heads * 4, generator=random)
    weights, out = shapes.heads_meet_heads(x, n_heads)
    assert weights.shape == (1, 5, n_heads, n_heads)  # batch, length, head, head
    assert out.shape == (1, 5, n_heads * 4)  # the shape that everybody expects
    for i in range(5):  # each token alone gives the same
        torch.testing.assert_close(shapes.heads_meet_heads(x[:, [i]], n_heads)[1], out[:, [i]])


def test_the_check_sees_it_even_with_as_many_heads_as_tokens() -> None:
    assert not passes(shapes.check_tokens_meet, shapes.heads_meet_heads)
    assert passes(shapes.check_tokens_meet, shapes.tokens_meet_tokens)


def test_the_exhibit_uses_the_layers_own_vectors(subject: Subject) -> None:
    result = HEADS.run(subject, 0)
    q, k = (torch.tensor(x) for x in (subject.site.q, subject.site.k))
    expected = (q[2] @ k[2].T / 2).softmax(-1)  # d_head is 4
    np.testing.assert_allclose(result.right.matrix.values, expected.numpy(), atol=1e-6)
    first = (q[:, 0] @ k[:, 0].T / 2).softmax(-1)
    np.testing.assert_allclose(result.wrong.matrix.values, first.numpy(), atol=1e-6)
    assert dict(result.wrong.numbers)["Change of other tokens when the last one changes"] == "0"
    assert dict(result.right.numbers)["Change of other tokens when the last one changes"] != "0"


def test_view_after_transpose_is_refused_and_reshape_alone_mixes_tokens() -> None:
    z = torch.arange(12).view(2, 3, 2)  # head, length, d
    text = said(shapes.view_after_transpose, z)
    assert text is not None
    assert text.startswith("view size is not compatible with input tensor's size and stride")
    # by hand: token 0 has 0, 1 of head 0 and 6, 7 of head 1
    right = torch.tensor([[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]])
    wrong = torch.tensor([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
    assert torch.equal(shapes.transpose_and_reshape(z), right)
    assert torch.equal(shapes.reshape_alone(z), wrong)
    assert torch.equal(merge_heads(z.float()[None])[0], right.float())


def test_the_checks_of_the_merge() -> None:
    assert not passes(shapes.check_merge, shapes.reshape_alone)
    assert passes(shapes.check_merge, shapes.transpose_and_reshape)


def test_the_merge_against_the_models_own_output(subject: Subject) -> None:
    result = VIEW.run(subject, 0)
    name = "Largest deviation from the model's own output"
    wrong, right = (dict(side.numbers)[name] for side in (result.wrong, result.right))
    assert float(right) < 1e-5 < 0.01 < float(wrong)
    np.testing.assert_array_equal(result.right.matrix.values, np.eye(subject.n))
    np.testing.assert_allclose(result.wrong.matrix.values.sum(axis=1), 1, atol=1e-6)
    assert result.wrong.matrix.values.trace() < subject.n / 2


def test_the_errors_are_pytorchs_own_with_their_numbers_explained(subject: Subject) -> None:
    view, own, known = VIEW.run(subject, 0).wrong.complaints
    assert "spans across two contiguous subspaces" in view.text
    n, d, h = subject.n, subject.config.d_head, subject.config.n_heads
    assert own.text == f"shape '[{n}, {d}]' is invalid for input of size {n * d * h}"
    assert f"an axis of {h} was forgotten" in own.meaning
    assert known.text == "shape '[32, 8, 128]' is invalid for input of size 131072"
    assert "32 × 8 × 128 = 32,768 numbers, and the tensor has 131,072" in known.meaning
    assert "4 times as many: an axis of 4 was forgotten" in known.meaning


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("shape '[2, 3]' is invalid for input of size 12", "2 times as many"),
        ("shape '[4, 6]' is invalid for input of size 12", "2 times too few"),
        ("shape '[16, 5, 76]' is invalid for input of size 6144", "64 are left over"),
        ("shape '[0]' is invalid for input of size 5", "5 are left over"),
    ],
)
def test_a_shape_error_in_words(text: str, part: str) -> None:
    assert part in explain(text)


def test_other_errors_are_left_alone() -> None:
    assert explain("CUDA out of memory") == ""


@given(st.integers(1, 20), st.integers(1, 40))
def test_dimensions_are_lost_just_where_heads_do_not_divide(n_heads: int, width: int) -> None:
    x = torch.arange(3.0 * width).view(3, width)
    if n_heads > width:
        return
    lost = width % n_heads
    cut = shapes.split_cut_off(x, n_heads)
    assert cut.shape == (3, n_heads, width // n_heads)
    assert torch.equal(cut.flatten(1), x[:, : width - lost])
    assert passes(shapes.check_split, shapes.split_cut_off, x, n_heads) == (lost == 0)
    if lost:
        message = said(shapes.split_rounded_down, x, n_heads)
        assert message is not None
        assert f"is invalid for input of size {3 * width}" in message
        with pytest.raises(ValueError, match=f"left over: {lost}"):
            shapes.split_evenly(x, n_heads)
    else:
        assert torch.equal(shapes.split_rounded_down(x, n_heads), shapes.split_evenly(x, n_heads))


def test_the_exhibit_shows_what_is_in_no_head(subject: Subject) -> None:
    result = DIVIDE.run(subject, 3)  # 16 dimensions
    closed = result.wrong.matrix.closed
    assert closed is not None
    np.testing.assert_array_equal(closed.sum(axis=1), 1)
    assert closed[:, -1].all()
    assert result.right.matrix.closed is None
    assert dict(result.wrong.numbers)["Dimensions that are in no head"] == "1"
    assert [c.text for c in result.right.complaints] == ["left over: 1"]


def test_with_a_number_that_fits_both_agree(subject: Subject) -> None:
    result = DIVIDE.run(subject, 8)
    assert result.wrong.passes
    assert result.right.passes
    assert result.wrong.matrix.closed is None
    assert not result.wrong.complaints
