"""Attention through all layers: rollout, and the raw mean. Neither is an explanation."""

import numpy as np
from jaxtyping import Bool, Float

from attention_lab.analysis.heads import part_sites
from attention_lab.analysis.panel import Panel
from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.tracing.trace import Trace

Square = Float[np.ndarray, "n n"]


def rollout(trace: Trace, part: str) -> Panel:
    """Attention rollout (Abnar and Zuidema 2020): the product over layers of 0.5 · (A + I).

    A is the mean over a layer's heads, I stands for the residual connection; rows are normalised.
    It follows where attention could have brought something from, and knows nothing of values, of
    the feed-forward nets or of signs. Raises `InputError` for cross-attention, which maps one
    sequence to another and cannot be multiplied with itself.
    """
    if part.endswith(".cross"):
        raise InputError(_("Rollout needs self-attention; cross-attention has a mean only."))
    layers = [trace[site] for site in part_sites(trace, part)]
    n = len(layers[0].query_tokens)
    product, reached = np.eye(n), np.eye(n, dtype=np.float32)
    for site in layers:
        product = step(site.weights.mean(axis=0).astype(np.float64)) @ product
        is_open = site.mask.any(axis=0) | np.eye(n, dtype=bool)
        reached = np.sign(is_open.astype(np.float32) @ reached)
    return _panel(trace, part, product, reached == 0)


def step(mean: Square) -> Square:
    """One layer of rollout; a row that attends to nothing only keeps what it has."""
    mixed = 0.5 * (mean + np.eye(len(mean)))
    rows: np.ndarray = mixed / mixed.sum(axis=-1, keepdims=True)
    return rows


def mean_weights(trace: Trace, part: str) -> Panel:
    """The raw mean over all heads of all layers of a part."""
    layers = [trace[site] for site in part_sites(trace, part)]
    mean = np.mean([site.weights.mean(axis=0).astype(np.float64) for site in layers], axis=0)
    closed = ~np.any([site.mask.any(axis=0) for site in layers], axis=0)
    return _panel(trace, part, mean, closed)


def _panel(
    trace: Trace,
    part: str,
    values: Float[np.ndarray, "query key"],
    closed: Bool[np.ndarray, "query key"],
) -> Panel:
    site = trace[part_sites(trace, part)[0]]
    shown = np.where(closed, np.nan, values).astype(np.float32)
    return Panel("weights", shown, closed, tuple(site.query_tokens), tuple(site.key_tokens))
