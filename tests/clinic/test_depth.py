"""Blocks without residual or without norm, in a real model's own layers: both sides."""

import numpy as np
import pytest
import torch
from torch import Tensor

from attention_lab.clinic import depth
from attention_lab.clinic.exhibit import passes
from attention_lab.clinic.subject import Subject
from attention_lab.config import Position
from tests.clinic.conftest import subject_of
from tests.factories import tiny_model

RESIDUAL, NORM = depth.exhibits()


def right_block(subject: Subject) -> depth.Function:
    return depth.pre_norm if subject.config.norm_place == "pre" else depth.post_norm


@pytest.mark.parametrize("position", ["sinusoidal", "rotary", "alibi"])
@pytest.mark.parametrize("norm_place", ["pre", "post"])
def test_the_right_blocks_are_the_models_own(norm_place: str, position: Position) -> None:
    subject = subject_of(tiny_model("decoder", norm_place=norm_place, position=position))
    streams = depth.stream(subject, right_block(subject), 2)
    for layer, found in enumerate(streams):
        expected = subject.trace.residual(f"decoder.{layer}", "post")
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-5)


def test_after_the_last_layer_they_are_gone_through_again(subject: Subject) -> None:
    block = right_block(subject)
    streams = depth.stream(subject, block, 3)
    with torch.inference_mode():
        again = block(streams[1], *depth._parts(subject, 0))
    torch.testing.assert_close(streams[2], again)


def triple(x: Tensor) -> Tensor:
    return 3 * x


def half(x: Tensor) -> Tensor:
    return x / 2


def test_each_broken_block_lacks_just_one_thing() -> None:
    x = torch.tensor([[1.0, -2.0, 4.0]])
    parts = (triple, triple, half, half)
    # pre: x + 3 x/2 = 2.5 x; post: (x + 3 x) / 2 = 2 x; a block has two parts
    assert torch.equal(depth.pre_norm(x, *parts), 6.25 * x)
    assert torch.equal(depth.post_norm(x, *parts), 4 * x)
    assert torch.equal(depth.no_norm(x, *parts), 16 * x)
    assert torch.equal(depth.no_residual_pre(x, *parts), 2.25 * x)
    assert torch.equal(depth.no_residual_post(x, *parts), 2.25 * x)


def test_without_residual_a_uniform_head_makes_all_tokens_the_same(random: torch.Generator) -> None:
    x = torch.randn(5, 8, generator=random)

    def mean(x: Tensor) -> Tensor:
        return x.mean(dim=0).expand_as(x)

    def same(x: Tensor) -> Tensor:
        return x

    for broken in (depth.no_residual_pre, depth.no_residual_post):
        assert depth.sameness(broken(x, mean, same, same, same)) == pytest.approx(1, abs=1e-5)
    for right in (depth.pre_norm, depth.post_norm):
        assert depth.sameness(right(x, mean, same, same, same)) < 0.9


def test_measures(random: torch.Generator) -> None:
    x = torch.randn(6, 8, generator=random)
    cosines = np.zeros((6, 6))
    for i in range(6):
        for j in range(6):
            cosines[i, j] = torch.cosine_similarity(x[i], x[j], dim=0)
    expected = (cosines.sum() - 6) / 30
    assert depth.sameness(x) == pytest.approx(expected, abs=1e-6)
    assert depth.sameness(x[:1]) == 1
    assert depth.deviation(x) == pytest.approx(np.std(x.numpy(), axis=1, ddof=1).mean(), rel=1e-5)


def test_without_norm_the_deviation_grows_with_depth(subject: Subject) -> None:
    (curves,) = NORM.run(subject, 8).curves
    assert curves.x == tuple(range(1, 9))
    assert list(curves.wrong) == sorted(curves.wrong)
    assert curves.wrong[-1] > 100 * curves.right[-1]


def test_the_similarity_is_that_of_the_picture(subject: Subject) -> None:
    result = RESIDUAL.run(subject, 8)
    (curves,) = result.curves
    assert curves.wrong[-1] > 0.8 * curves.right[-1]  # untrained tokens are alike anyhow
    for side, similarity in ((result.wrong, curves.wrong[-1]), (result.right, curves.right[-1])):
        shown = side.matrix.values
        np.testing.assert_allclose(np.diag(shown), 1, atol=1e-5)
        others = shown[~np.eye(len(shown), dtype=bool)]
        assert others.mean() == pytest.approx(similarity, abs=1e-5)


def test_overflow_is_seen_and_counted(subject: Subject) -> None:
    result = NORM.run(subject, 8)
    assert result.wrong.matrix.values.shape == (8, subject.n)
    broken = depth._deviations(subject, [torch.full((subject.n, 4), float("nan"))])
    assert broken.n_nan == subject.n


def test_the_checks_tell_them_apart() -> None:
    for right in (depth.pre_norm, depth.post_norm):
        assert passes(depth.check_residual, right)
        assert passes(depth.check_norm, right)
    for broken in (depth.no_residual_pre, depth.no_residual_post):
        assert not passes(depth.check_residual, broken)
    assert not passes(depth.check_norm, depth.no_norm)


@pytest.mark.pulled
def test_minilm(request: pytest.FixtureRequest) -> None:
    subject = subject_of(request.getfixturevalue("minilm"))
    (alike,) = RESIDUAL.run(subject, 6).curves
    assert alike.wrong[-1] > 0.99 > 0.8 > alike.right[-1]
    (grows,) = NORM.run(subject, 6).curves
    assert grows.wrong[-1] > 100 > 1 > grows.right[-1]
