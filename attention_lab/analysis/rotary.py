"""Rotary positions, looked at from outside: one query and one key, put at any two positions."""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attention_lab.config import ModelConfig
from attention_lab.model import positions
from attention_lab.tracing.trace import Trace

Vector = Float[Tensor, " d_head"]


def unturned(trace: Trace, site: str, head: int, query: int, key: int) -> tuple[Vector, Vector]:
    """q and k of a head as they were projected, before the model turned them by their positions.

    Where the run had no rotary positions they were not turned, and are given as they are.
    """
    found, config = trace[site], trace.model.config
    pair = ((found.q[head, query], query), (found.k[head, key], key))
    q, k = (torch.tensor(vector) for vector, _place in pair)
    if trace.position != "rotary":
        return q, k
    places = torch.tensor([place for _vector, place in pair]) + trace.start
    cos, sin = positions.rotary_turn(places, config.d_head, config.rotary_base)
    back = positions.rotate(torch.stack([q, k])[None, None], torch.stack([cos, -sin]))
    return back[0, 0, 0], back[0, 0, 1]


def turned(
    vector: Vector, places: np.ndarray, config: ModelConfig
) -> Float[Tensor, "position d_head"]:
    """The vector as it is at each position, turned as the model does."""
    turn = positions.rotary_turn(torch.from_numpy(places), config.d_head, config.rotary_base)
    rows = vector.expand(len(places), -1)[None, None]
    return positions.rotate(rows, turn)[0, 0]


def scores(
    q: Vector, k: Vector, places: np.ndarray, config: ModelConfig
) -> Float[np.ndarray, "query key"]:
    """q·k / √d_head with the query at each position and the key at each position.

    RoFormer, section 3.2.1: it is a function of the distance only. In float32, as the model counts.
    """
    queries, keys = turned(q, places, config), turned(k, places, config)
    product: np.ndarray = (queries @ keys.T / math.sqrt(config.d_head)).numpy()
    return product


def wavelengths(config: ModelConfig) -> Float[np.ndarray, " pair"]:
    """After how many positions each pair of dimensions has turned once: 2π · base^(2i/d_head)."""
    step = positions.rotary_angles(torch.arange(2), config.d_head, config.rotary_base)[1]
    wave: np.ndarray = 2 * np.pi / step[: config.d_head // 2].numpy()
    return wave
