"""What every head of a trace does, as numbers; each has a baseline, the same on uniform weights.

Shapes: h heads, q queries, k keys; #: may be 1 and then serves all.
"""

import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.tokens import Token
from attention_lab.tracing.site import Site
from attention_lab.tracing.trace import Trace

SHARES = ("first", "self", "previous", "next", "separators", "repeated")
MEASURES = ("entropy", "distance", *SHARES)
PLACE = ["part", "layer", "head"]  # the columns that name a head

Cells = Bool[np.ndarray, "q k"]


def head_table(trace: Trace) -> pd.DataFrame:
    """One row a head: part ("encoder.self"), layer, head, and each of `MEASURES`.

    `entropy` is in bits, `distance` in tokens; the others are the share of its attention, 0 to 1,
    that a query gives to the first token, to itself, to the token before, after, to separators, to
    earlier occurrences of the same token. Each is a mean over the queries that have a choice (two
    open keys or more) and, for shares, such a key among them. NaN: this text has no such query, or
    the measure makes no sense, as distances between two languages.
    """
    return _table(trace, is_baseline=False)


def baseline_table(trace: Trace) -> pd.DataFrame:
    """`head_table` for heads that choose nothing: uniform weights over what their mask opens."""
    return _table(trace, is_baseline=True)


def measures(
    weights: Float[np.ndarray, "h q k"],
    mask: Bool[np.ndarray, "#h q k"],
    cells: Mapping[str, Cells],
) -> dict[str, Float[np.ndarray, " h"]]:
    """Entropy, and the share of attention on each of `cells` (see `head_table`), by head."""
    is_open = np.broadcast_to(mask, weights.shape)
    has_choice = is_open.sum(axis=-1) >= 2
    found = {"entropy": _mean(bits(weights), has_choice)}
    for name, marked in cells.items():
        share = np.einsum("hqk,qk->hq", weights, marked.astype(weights.dtype))
        found[name] = _mean(share, has_choice & (is_open & marked).any(axis=-1))
    return found


def mean_distance(
    weights: Float[np.ndarray, "h q k"], mask: Bool[np.ndarray, "#h q k"]
) -> Float[np.ndarray, " h"]:
    """How far a head looks: the mean of Σ weight · |query - key|, in tokens."""
    rows, columns = np.indices(weights.shape[1:])
    far = np.abs(rows - columns).astype(weights.dtype)
    has_choice = np.broadcast_to(mask, weights.shape).sum(axis=-1) >= 2
    return _mean(np.einsum("hqk,qk->hq", weights, far), has_choice)


def uniform(mask: Bool[np.ndarray, "#h q k"]) -> Float[np.ndarray, "#h q k"]:
    """The weights of a head that divides its attention evenly over what is open."""
    even: np.ndarray = mask / np.maximum(mask.sum(axis=-1, keepdims=True), 1)
    return even


def bits(p: Float[np.ndarray, "*rows k"]) -> Float[np.ndarray, "*rows"]:
    """Entropy of each row in bits; much faster than leaving zeros out of the logarithm."""
    total: np.ndarray = -(p * np.log2(np.maximum(p, np.float32(1e-30)))).sum(axis=-1)
    return total


def marked_cells(query: Sequence[Token], key: Sequence[Token], is_cross: bool) -> dict[str, Cells]:
    """For each share which cells count; of cross-attention only those that need one sequence.

    A separator is a special token or one of punctuation alone. The first token has its own share
    and is none.
    """
    i, j = np.indices((len(query), len(key)))
    separators = np.array([is_separator(token) for token in key], bool)
    cells = {"first": j == 0, "separators": separators[j] & (j > 0)}
    if is_cross:
        return cells
    ids = np.array([token.id for token in key])
    return cells | {
        "self": j == i,
        "previous": j == i - 1,
        "next": j == i + 1,
        "repeated": (ids[i] == ids[j]) & (j < i),
    }


def is_separator(token: Token) -> bool:
    """Whether a token is special, or nothing but punctuation (Unicode category P)."""
    text = token.text.strip()
    return token.special or (
        bool(text) and all(unicodedata.category(char).startswith("P") for char in text)
    )


def part_sites(trace: Trace, part: str) -> list[str]:
    """The sites of a part such as "decoder.cross", by layer. Raises `InputError` if it has none."""
    found = [site for site in trace.sites if part_of(site) == part]
    if not found:
        message = _('There is no attention "{part}"; this model has {parts}.')
        parts = ", ".join(dict.fromkeys(map(part_of, trace.sites)))
        raise InputError(message.format(part=part, parts=parts))
    return found


def part_of(site: str) -> str:
    """ "encoder.3.self" → "encoder.self"."""
    stack, _layer, kind = site.split(".")
    return f"{stack}.{kind}"


def rank(trace: Trace, part: str, query: int, key: int) -> pd.DataFrame:
    """All heads of a part by the weight with which token `query` looks at token `key`.

    One row a head, the largest weight first: part, layer, head, weight, and `uniform`, the weight
    that an even division would give. Raises `InputError` for positions that there are not.
    """
    sites = [trace[name] for name in part_sites(trace, part)]
    n_query, n_key = len(sites[0].query_tokens), len(sites[0].key_tokens)
    if not (0 <= query < n_query and 0 <= key < n_key):
        message = _("Queries are numbered 0 to {q}, keys 0 to {k}; asked for: {query}, {key}.")
        raise InputError(message.format(q=n_query - 1, k=n_key - 1, query=query, key=key))
    tables = []
    for site in sites:
        even = uniform(site.mask)[:, query, key]
        columns = {"weight": site.weights[:, query, key], "uniform": even}
        tables.append(_rows(site, columns))
    table = pd.concat(tables, ignore_index=True)
    return table.sort_values("weight", ascending=False, kind="stable", ignore_index=True)


def _table(trace: Trace, is_baseline: bool) -> pd.DataFrame:
    cells: dict[str, dict[str, Cells]] = {}  # all layers of a part share their tokens
    tables = []
    for name in trace.sites:
        site, part = trace[name], part_of(name)
        is_cross = part.endswith(".cross")
        if part not in cells:
            cells[part] = marked_cells(site.query_tokens, site.key_tokens, is_cross)
        weights = uniform(site.mask) if is_baseline else site.weights
        found = measures(weights, site.mask, cells[part])
        if not is_cross:
            found["distance"] = mean_distance(weights, site.mask)
        tables.append(_rows(site, found))
    return pd.concat(tables, ignore_index=True).reindex(columns=[*PLACE, *MEASURES])


def _rows(site: Site, columns: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """One row a head of a site; a column with one number serves all of its heads."""
    n = site.n_heads
    place = {"part": part_of(site.name), "layer": int(site.name.split(".")[1]), "head": range(n)}
    values = {name: np.broadcast_to(array, n) for name, array in columns.items()}
    return pd.DataFrame({**place, **values})


def _mean(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The mean of each row's counted values; NaN where none is."""
    number = counted.sum(axis=-1)
    total = np.where(counted, values, 0).sum(axis=-1, dtype=np.float64)
    mean: np.ndarray = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    return mean
