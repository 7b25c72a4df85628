"""One mask in every convention, and what becomes of it where two conventions meet.

The functions are the code that the Masks page shows; the numbers beside it are theirs.
"""

from collections.abc import Callable
from math import inf, sqrt

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """One head; mask: True = may attend."""
    scores = q @ k.mT / sqrt(q.shape[-1])
    masked_scores = scores.masked_fill(~mask, -inf)
    weights = masked_scores.softmax(dim=-1)
    weights = weights.masked_fill(~mask, 0.0)  # no NaN
    return weights @ v


def padding_mask(ids: Tensor, pad_id: int, mask: Tensor, n_heads: int) -> Tensor:
    """From token ids to one mask a head."""
    real = ids != pad_id  # batch, length
    keys = real[:, None, None, :]  # batch, 1, 1, length
    both = keys & mask  # batch, 1, length, length
    return both.expand(-1, n_heads, -1, -1)


def in_all_ways(mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same mask in the other conventions."""
    blocked = ~mask
    zeros = torch.zeros(mask.shape)
    infinity = zeros.masked_fill(blocked, -inf)
    billion = zeros.masked_fill(blocked, -1e9)
    return blocked, infinity, billion


def true_attends(scores: Tensor, mask: Tensor) -> Tensor:
    """True = may attend."""
    return scores.masked_fill(~mask, -inf).softmax(dim=-1)


def true_blocks(scores: Tensor, mask: Tensor) -> Tensor:
    """True = blocked."""
    return scores.masked_fill(mask, -inf).softmax(dim=-1)


def is_added(scores: Tensor, mask: Tensor) -> Tensor:
    """Numbers, added to the scores."""
    return (scores + mask).softmax(dim=-1)


def moved_by(forward: Callable[[Tensor], Tensor], ids: Tensor, place: int, new_id: int) -> Tensor:
    """How far each output moves."""
    other = ids.clone()
    other[0, place] = new_id
    before, after = forward(ids), forward(other)
    return (after - before).abs().amax(dim=-1)


def unwanted(
    weights: Float[Tensor, "query key"], mask: Bool[Tensor, "query key"]
) -> tuple[float, int]:
    """The share of all attention on cells that the mask closes, and the rows that are NaN."""
    broken = int(weights.isnan().any(dim=-1).sum())
    finite = weights.nan_to_num(0.0).double()
    return float(finite[~mask].sum() / finite.sum().clamp_min(1e-30)), broken
