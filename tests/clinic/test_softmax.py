"""Scores without 1/√d_k, and the softmax over the wrong axis: both sides."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd.functional import jacobian
from torch.nn.functional import scaled_dot_product_attention

from attention_lab.clinic import softmax
from attention_lab.clinic.exhibit import passes
from attention_lab.clinic.subject import Subject


@pytest.mark.parametrize(
    ("scores_of", "scale"), [(softmax.scaled_scores, None), (softmax.unscaled_scores, 1.0)]
)
def test_the_right_scores_are_pytorchs_and_the_wrong_ones_lack_the_scale(
    scores_of: softmax.Function, scale: float | None, random: torch.Generator
) -> None:
    q, k, v = torch.randn(3, 5, 64, generator=random)
    expected = scaled_dot_product_attention(q[None], k[None], v[None], scale=scale)[0]
    torch.testing.assert_close(scores_of(q, k).softmax(-1) @ v, expected)


def test_unscaled_scores_grow_with_the_root_of_d_k(random: torch.Generator) -> None:
    for d_k in (16, 256, 1024):
        q, k = torch.randn(2, 200, d_k, generator=random)
        assert softmax.unscaled_scores(q, k).std().item() == pytest.approx(d_k**0.5, rel=0.05)
        assert softmax.scaled_scores(q, k).std().item() == pytest.approx(1, rel=0.05)


def test_at_large_d_k_the_gradient_dies_without_the_scale(random: torch.Generator) -> None:
    q, k = torch.randn(2, 50, 512, generator=random)
    scaled = softmax.scaled_scores(q, k)
    wrong, right = softmax.unscaled_scores(q, k).softmax(-1), scaled.softmax(-1)
    assert softmax.entropy(wrong) < 0.3 < 3 < softmax.entropy(right)
    assert wrong.amax(-1).mean() > 0.9 > 0.5 > right.amax(-1).mean()
    # ∂w/∂s vanishes for most rows: their softmax is saturated
    steep = [float(jacobian(lambda s: s.softmax(-1), row).norm()) for row in (q @ k.T)[:20]]
    assert np.median(steep) < 0.05
    calm = [float(jacobian(lambda s: s.softmax(-1), row).norm()) for row in scaled[:20]]
    assert min(calm) > 0.1


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.floats(1, 30))
def test_larger_scores_never_raise_the_entropy(row: list[float], factor: float) -> None:
    scores = torch.tensor([row])
    plain, larger = scores.softmax(-1), (factor * scores).softmax(-1)
    assert softmax.entropy(larger) <= softmax.entropy(plain) + 1e-5


def test_the_gradient_is_autograds(random: torch.Generator) -> None:
    scores = torch.randn(4, 6, generator=random)
    rows = [jacobian(lambda s: s.softmax(-1), row).norm() for row in scores]
    expected = float(torch.stack(rows).mean())
    assert softmax.gradient(scores.softmax(-1)) == pytest.approx(expected, rel=1e-5)


def test_the_entropy_is_known_for_simple_rows() -> None:
    assert softmax.entropy(torch.full((3, 8), 1 / 8)) == pytest.approx(3)
    assert softmax.entropy(torch.eye(4)) == 0


def test_at_the_heads_own_size_the_right_side_is_the_head(subject: Subject) -> None:
    exhibit = softmax.exhibits()[0]
    assert exhibit.setting is not None
    setting = exhibit.setting(subject)
    assert setting.default == subject.config.d_head
    result = exhibit.run(subject, setting.default)
    own = subject.site.weights[subject.head]
    np.testing.assert_allclose(result.right.matrix.values, own, atol=1e-6)
    assert np.abs(result.wrong.matrix.values - own).max() > 0.05


def test_the_curves_are_the_sides_at_every_size(subject: Subject) -> None:
    exhibit = softmax.exhibits()[0]
    assert exhibit.setting is not None
    sizes = exhibit.setting(subject).options
    for i, size in enumerate(sizes):
        result = exhibit.run(subject, size)
        entropy, gradient = result.curves
        assert entropy.x == gradient.x == sizes
        assert entropy.wrong[i] <= entropy.right[i] + 1e-6
        for curves, measure in ((entropy, softmax.entropy), (gradient, softmax.gradient)):
            wrong = measure(torch.tensor(result.wrong.matrix.values))
            right = measure(torch.tensor(result.right.matrix.values))
            assert (curves.wrong[i], curves.right[i]) == pytest.approx((wrong, right))


def test_over_the_wrong_axis_columns_sum_to_one(subject: Subject) -> None:
    result = softmax.exhibits()[1].run(subject, 0)
    wrong, right = result.wrong.matrix.values, result.right.matrix.values
    np.testing.assert_allclose(wrong.sum(axis=0), 1, atol=1e-5)
    assert np.abs(wrong.sum(axis=1) - 1).max() > 0.05
    np.testing.assert_allclose(right.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(right, subject.site.weights[subject.head], atol=1e-6)


def test_the_checks_tell_them_apart() -> None:
    assert not passes(softmax.check_scale, softmax.unscaled_scores)
    assert passes(softmax.check_scale, softmax.scaled_scores)
    assert not passes(softmax.check_scale, lambda q, k: q @ k.T / q.shape[-1])  # too much
    assert not passes(softmax.check_rows, softmax.softmax_over_queries)
    assert passes(softmax.check_rows, softmax.softmax_over_keys)
