"""Bugs of the softmax: scores that are too large for it, and the wrong axis."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_lab.clinic.exhibit import (
    Curves,
    Exhibit,
    Function,
    Result,
    Setting,
    Side,
    pairs,
    passes,
    spread,
    written,
)
from attention_lab.clinic.subject import Subject
from attention_lab.i18n import _


def unscaled_scores(q: Tensor, k: Tensor) -> Tensor:
    """The dot products as they are."""
    return q @ k.T


def scaled_scores(q: Tensor, k: Tensor) -> Tensor:
    """The dot products divided by √d_k."""
    return q @ k.T / math.sqrt(q.shape[-1])


def check_scale(scores_of: Function) -> None:
    """Random vectors: scores vary by about 1."""
    seed = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 64, 512, generator=seed)
    assert 0.5 < scores_of(q, k).std() < 2


def softmax_over_queries(scores: Tensor) -> Tensor:
    """scores: query, key. Columns sum to 1."""
    return scores.softmax(dim=-2)


def softmax_over_keys(scores: Tensor) -> Tensor:
    """scores: query, key. Rows sum to 1."""
    return scores.softmax(dim=-1)


def check_rows(softmax: Function) -> None:
    """Every query has an attention of 1."""
    scores = torch.arange(15.0).view(3, 5)
    sums = softmax(scores).sum(dim=-1)
    assert torch.allclose(sums, torch.ones(3))


def exhibits() -> tuple[Exhibit, ...]:
    """The two exhibits, in the order of a lesson."""
    return (
        Exhibit(
            "scale",
            _("No division by √d_k"),
            _(
                "The longer the vectors, the larger their dot products. Without the division the "
                "softmax gives almost everything to one token, and its gradient dies."
            ),
            check_scale,
            _("Divide the scores by √d_k before the softmax."),
            _scale,
            _sizes,
        ),
        Exhibit(
            "axis",
            _("Softmax over the wrong axis"),
            _(
                "The softmax runs down the queries and not along the keys. The picture looks "
                "plausible, but the rows no longer sum to 1: some tokens take in too much, others "
                "nearly nothing."
            ),
            check_rows,
            _("Take the softmax over the last axis, the keys: dim=-1."),
            _axis,
        ),
    )


def entropy(weights: Float[Tensor, "query key"]) -> float:
    """The mean over rows of -Σ w log2 w, in bits: 0 = one key only."""
    bits = -(weights * weights.clamp_min(1e-45).log2()).sum(dim=-1)
    return float(bits.mean())


def gradient(weights: Float[Tensor, "query key"]) -> float:
    """The mean over rows of the norm of ∂weights/∂scores = diag(w) - w wᵀ."""
    jacobian = torch.diag_embed(weights) - weights[:, :, None] * weights[:, None, :]
    return float(jacobian.flatten(1).norm(dim=1).mean())


def _sizes(subject: Subject) -> Setting:
    heads, _n, d_head = subject.q.shape
    powers = {2**i for i in range(1, 20) if 2**i <= heads * d_head}
    options = tuple(sorted(powers | {d_head}))
    return Setting("d_k", _("d_k: how long queries and keys are"), options, d_head)


def _scale(subject: Subject, d_k: int) -> Result:
    q, k = _side_by_side(subject, subject.q), _side_by_side(subject, subject.k)

    def weights(scores_of: Function, size: int) -> Tensor:
        scores: Tensor = scores_of(q[:, :size], k[:, :size])
        return scores.masked_fill(~subject.mask, -math.inf).softmax(dim=-1)

    def side(scores_of: Function) -> Side:
        found = weights(scores_of, d_k)
        numbers = (
            (_("Entropy of a row, mean (bits)"), written(entropy(found))),
            (_("Largest weight of a row, mean"), written(found.amax(dim=-1).mean())),
            (_("Gradient of the softmax, mean norm"), written(gradient(found))),
        )
        matrix = pairs(subject.labels, found, ~subject.mask)
        return Side((scores_of,), matrix, numbers, passes(check_scale, scores_of))

    sizes = _sizes(subject).options
    curves = tuple(
        Curves(
            title,
            "d_k",
            sizes,
            tuple(measure(weights(unscaled_scores, size)) for size in sizes),
            tuple(measure(weights(scaled_scores, size)) for size in sizes),
        )
        for title, measure in (
            (_("Entropy of a row, mean (bits)"), entropy),
            (_("Gradient of the softmax, mean norm"), gradient),
        )
    )
    note = _(
        "The vectors are the first d_k dimensions of this layer's own queries and keys, the chosen "
        "head's first. At d_k = {d_head} the right side is the head itself."
    )
    note = note.format(d_head=subject.q.shape[-1])
    return Result(side(unscaled_scores), side(scaled_scores), curves, note=note)


def _side_by_side(
    subject: Subject, x: Float[Tensor, "head n d"]
) -> Float[Tensor, "n all_dimensions"]:
    """All heads' dimensions in one vector a token, the chosen head's first."""
    others = [i for i in range(len(x)) if i != subject.head]
    return x[[subject.head, *others]].transpose(0, 1).flatten(1)


def _axis(subject: Subject, _setting: int) -> Result:
    scores = subject.scores.masked_fill(~subject.mask, -math.inf)

    def side(softmax: Function) -> Side:
        weights = softmax(scores)
        numbers = (
            (_("Sum of a row (one token's attention)"), spread(weights.sum(dim=-1))),
            (_("Sum of a column"), spread(weights.sum(dim=-2))),
        )
        matrix = pairs(subject.labels, weights, ~subject.mask)
        return Side((softmax,), matrix, numbers, passes(check_rows, softmax))

    return Result(side(softmax_over_queries), side(softmax_over_keys))
