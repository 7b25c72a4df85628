"""How much alike the heads of a model are on one text."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attention_lab.analysis.heads import bits, part_sites
from attention_lab.tracing.trace import Trace

BUDGET = 60_000_000  # logarithms, about a second; above it not every query is looked at


@dataclass(frozen=True, eq=False)
class Similarity:
    """`values` between each two heads, 1 = the same weights, 0 = no key in common.

    `places` are (layer, head), in the order of the rows; `n_queries` of `n_tokens` were compared.
    """

    values: Float[np.ndarray, "n n"]
    places: tuple[tuple[int, int], ...]
    n_queries: int
    n_tokens: int


def similarity(trace: Trace, part: str, budget: int = BUDGET) -> Similarity:
    """1 - Jensen-Shannon distance (base 2; Endres and Schindelin 2003), the mean over queries.

    Only queries with a choice count, those that in every head have two open keys or more; without
    one, values are NaN. Of a long text so many queries, evenly spaced, as `budget` allows.
    """
    sites = [trace[name] for name in part_sites(trace, part)]
    places = tuple(
        (layer, head) for layer, site in enumerate(sites) for head in range(site.n_heads)
    )
    n_query, n_key = sites[0].mask.shape[1:]
    choice = np.all([(site.mask.sum(axis=-1) >= 2).all(axis=0) for site in sites], axis=0)
    rows = np.flatnonzero(choice)
    most = max(1, budget // max(1, len(places) ** 2 // 2 * n_key))
    rows = (
        rows[np.unique(np.linspace(0, len(rows) - 1, most).astype(int))]
        if len(rows) > most
        else rows
    )
    weights = np.concatenate([site.weights[:, rows] for site in sites])
    return Similarity(_compare(weights), places, len(rows), n_query)


def _compare(weights: Float[np.ndarray, "n q k"]) -> Float[np.ndarray, "n n"]:
    """JSD(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2; its root is a distance from 0 to 1."""
    n, n_queries, _n_key = weights.shape
    alike = np.eye(n)
    if not n_queries:
        return np.full((n, n), np.nan)
    own = bits(weights)
    for i in range(n - 1):
        both = bits((weights[i] + weights[i + 1 :]) / 2)
        divergence = np.clip(both - (own[i] + own[i + 1 :]) / 2, 0, 1)
        alike[i, i + 1 :] = alike[i + 1 :, i] = 1 - np.sqrt(divergence).mean(axis=-1)
    return alike
