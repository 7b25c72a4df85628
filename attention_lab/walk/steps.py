"""The stages of attention as plain PyTorch; the page shows these lines and the script runs them.

They know nothing of this package and of no number format, so that the walk recomputes in float64
what the model computed in float32. Shapes: h heads, q queries, k keys, d = d_head, m = d_model.
"""

import math

import torch
from torch import Tensor


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Ba et al. 2016: mean 0 and variance 1 over the last axis, then scaled and shifted."""
    mean = x.mean(dim=-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Zhang and Sennrich 2019: root mean square 1 over the last axis, then scaled."""
    return x / torch.sqrt((x**2).mean(dim=-1, keepdim=True) + eps) * weight


def project(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """x W + b for every token; PyTorch stores W transposed, as out × in."""
    return x @ w.T + b


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(length, heads · d) → view (length, heads, d) → transpose (heads, length, d)."""
    length, width = x.shape
    return x.view(length, n_heads, width // n_heads).transpose(0, 1)


def share_heads(x: Tensor, n_heads: int) -> Tensor:
    """Each key/value head serves a group of query heads (Ainslie et al. 2023)."""
    return x.repeat_interleave(n_heads // x.shape[0], dim=0)


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Turn each pair (x_i, x_{i + d/2}) by the angle of its position (Su et al. 2021)."""
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()


def multiply(q: Tensor, k: Tensor) -> Tensor:
    """The d products whose sum is the dot product of one query and one key."""
    return q * k


def scaled(dots: Tensor, d_head: int, bias: Tensor) -> Tensor:
    """Divided by √d_head, so that softmax does not saturate (section 3.2.1); plus position bias."""
    return dots / math.sqrt(d_head) + bias


def masked(scores: Tensor, mask: Tensor) -> Tensor:
    """-inf where the mask is False: e^-inf is exactly 0."""
    return scores.masked_fill(~mask, -math.inf)


def exponentials(row: Tensor) -> Tensor:
    """e^(score - largest score): the same quotients as without subtracting, and no overflow."""
    top = row.max()
    return torch.exp(row - (top if top > -math.inf else 0.0))


def quotient(exps: Tensor) -> Tensor:
    """Each exponential over their sum; a row with nothing open stays 0."""
    total = exps.sum()
    return exps / total if total > 0 else exps


def softmax(masked_scores: Tensor) -> Tensor:
    """Exponentials over their sum, for every row of every head."""
    rows = masked_scores.flatten(0, -2)
    return torch.stack([quotient(exponentials(row)) for row in rows]).view_as(masked_scores)


def mix(weights: Tensor, v: Tensor) -> Tensor:
    """The values, each times its weight, summed."""
    return weights @ v


def merge_heads(z: Tensor) -> Tensor:
    """(heads, length, d) → transpose → (length, heads · d): heads side by side."""
    return z.transpose(0, 1).reshape(z.shape[1], -1)
