"""A trace as pandas tables."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.tracing.site import PAIR_STAGES, STAGES, Site

if TYPE_CHECKING:
    from attention_lab.tracing.trace import Trace

# The axes of each stage, and of each place in the residual stream, as letters.
LETTERS = {
    "q": "head, query, d_head",
    "k": "head, key, d_head",
    "v": "head, key, d_head",
    "scores": "head, query, key",
    "mask": "head or 1, query, key",
    "masked_scores": "head, query, key",
    "weights": "head, query, key",
    "z": "head, query, d_head",
    "result": "head, query, d_model",
    "attn_out": "query, d_model",
}


def shape_frame(trace: "Trace") -> pd.DataFrame:
    """One row a tensor, in the order of computation: name, letters, shape, stored, bytes."""
    rows = []
    for stack in trace.model.config.stacks:
        for layer in range(trace.model.config.n_layers):
            prefix = f"{stack}.{layer}"
            rows.append(_row(f"{prefix}.pre", trace.residual(prefix, "pre"), True))
            for site in trace.sites:
                if site.startswith(f"{prefix}."):
                    rows += _site_rows(trace[site])
            rows += [
                _row(f"{prefix}.{at}", trace.residual(prefix, at), True)
                for at in ("mid", "cross", "mlp_out", "post")
                if f"{prefix}.{at}" in trace.captured
            ]
    rows.append(_row("hidden", trace.hidden, True))
    return pd.DataFrame(rows)


def _site_rows(site: Site) -> list[dict[str, object]]:
    names = [*STAGES, "attn_out"]
    return [_row(f"{site.name}.{n}", getattr(site, n), n in site.stored) for n in names]


def _row(name: str, array: np.ndarray, stored: bool) -> dict[str, object]:
    letters = LETTERS.get(name.rpartition(".")[2], "position, d_model")
    shape, n_bytes = tuple(array.shape), array.nbytes if stored else 0
    return {"name": name, "letters": letters, "shape": shape, "stored": stored, "bytes": n_bytes}


def long_frame(site: Site, stage: str, head: int | None = None) -> pd.DataFrame:
    """One row a number: head, query, key with their tokens, or head, position, dimension.

    Raises `InputError` for a stage or a head that there is not.
    """
    array = site.stage(stage)
    heads = np.arange(array.shape[0])
    if head is not None:
        if not 0 <= head < site.n_heads:
            message = _("There is no head {head}; this model has heads 0 to {last}.")
            raise InputError(message.format(head=head, last=site.n_heads - 1))
        heads = heads[[head if len(heads) > 1 else 0]]  # a mask may be one for all heads
        array = array[heads]
    h, row, column = np.indices(array.shape)
    rows = site.key_tokens if stage in ("k", "v") else site.query_tokens
    row_texts = np.array([t.text for t in rows], dtype=object)[row]
    columns = {"head": heads[h], "value": array}
    if stage in PAIR_STAGES:
        key_texts = np.array([t.text for t in site.key_tokens], dtype=object)[column]
        columns |= {"query": row, "query_token": row_texts, "key": column, "key_token": key_texts}
        order = ["head", "query", "query_token", "key", "key_token", "value"]
    else:
        columns |= {"position": row, "token": row_texts, "dimension": column}
        order = ["head", "position", "token", "dimension", "value"]
    return pd.DataFrame({name: columns[name].ravel() for name in order})
