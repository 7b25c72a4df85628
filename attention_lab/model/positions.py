"""Positions: how order gets into a model that would not know it (sinusoidal, rotary, ALiBi)."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_lab.errors import InputError
from attention_lab.i18n import _


def sinusoidal(
    positions: Int[Tensor, " position"], d_model: int
) -> Float[Tensor, "position d_model"]:
    """`sinusoidal_exact` in float32, as the model adds it."""
    return sinusoidal_exact(positions, d_model).float()


def sinusoidal_exact(
    positions: Int[Tensor, " position"], d_model: int
) -> Float[Tensor, "position d_model"]:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos of the same, in float64.

    "Attention Is All You Need", section 3.5.
    """
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = positions[:, None].double() / 10_000 ** (even / d_model)  # position × d_model/2
    table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    return table[:, :d_model]  # an odd d_model ends with a sine


def rotary_angles(
    positions: Int[Tensor, " position"], d_head: int, base: float
) -> Float[Tensor, "position d_head"]:
    """How far each pair of dimensions turns: pos · base^(-2i/d_head) (RoFormer, section 3.2.2).

    Dimension i is paired with i + d_head/2, so the angles stand twice side by side. The frequencies
    are rounded as in the libraries that train such models; the products are not, or scores would
    depend on more than distance: by 1e-3 where a text starts at 5,000. Raises `InputError` where
    d_head is odd.
    """
    if d_head % 2:
        message = _(
            "Rotary positions turn dimensions in pairs; this model's d_head is {n}, not even."
        )
        raise InputError(message.format(n=d_head))
    frequency = base ** -(torch.arange(0, d_head, 2, dtype=torch.float32) / d_head)
    angle = positions[:, None].double() * frequency.double()
    return torch.cat([angle, angle], dim=-1)


def rotary_turn(
    positions: Int[Tensor, " position"], d_head: int, base: float
) -> Float[Tensor, "2 position d_head"]:
    """The cosines and the sines of `rotary_angles`; all layers share them."""
    angles = rotary_angles(positions, d_head, base)
    return torch.stack([angles.cos(), angles.sin()]).float()


def rotate(
    x: Float[Tensor, "batch head position d_head"], turn: Float[Tensor, "2 position d_head"]
) -> Float[Tensor, "batch head position d_head"]:
    """Turn each pair (x_i, x_{i + d_head/2}) by its angle (RoFormer, equation 34)."""
    cos, sin = turn
    first, second = x.chunk(2, dim=-1)
    out: Tensor = x * cos + torch.cat([-second, first], dim=-1) * sin
    return out


def alibi_slopes(n_heads: int) -> Float[Tensor, " head"]:
    """One slope a head: 2^(-8/n), 2^(-16/n), … (ALiBi, section 3).

    Where n is no power of two, the paper's code takes those of the next smaller power and fills up
    with every other slope of the next larger one.
    """
    power = 2 ** math.floor(math.log2(n_heads))
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    slopes += [2 ** (-4 * (2 * i + 1) / power) for i in range(n_heads - power)]
    return torch.tensor(slopes)


def alibi_bias(n_heads: int, n_query: int, n_key: int) -> Float[Tensor, "head query key"]:
    """-slope · distance, added to the scores. Without a causal mask it falls off on both sides."""
    query = torch.arange(n_key - n_query, n_key)
    distance = (query[:, None] - torch.arange(n_key)[None, :]).abs()
    return -alibi_slopes(n_heads)[:, None, None] * distance
