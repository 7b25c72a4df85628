"""A trace as pandas tables."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from torch import Tensor

from attention_lab.tracing.edits import check_head
from attention_lab.tracing.site import PAIR_STAGES, Site

if TYPE_CHECKING:
    from attention_lab.tracing.trace import Trace

# The axes of each stage as letters.
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
    """One row a tensor, in the order of computation: name, letters, shape, stored, bytes.

    Nothing is computed for it: the shapes of what is derived on demand follow from their letters.
    """
    rows = []
    for name, tensor in trace.captured.items():
        site, _, point = name.rpartition(".")
        if site not in trace.sites:
            rows.append(_row(name, "position, d_model", tuple(tensor.shape), tensor))
        elif point == "attn_out":  # the last of its site
            rows += _site_rows(trace[site])
    hidden, logits, encoded = trace.hidden_tensor, trace.logits_tensor, trace.encoded_tensor
    if encoded is not None:
        rows.append(_row("encoded", "position, d_model", tuple(encoded.shape), encoded))
    rows.append(_row("hidden", "position, d_model", tuple(hidden.shape), hidden))
    if n := trace.model.config.d_logits:
        rows.append(_row("logits", "position, d_vocab", (len(hidden), n), logits))
    return pd.DataFrame(rows)


def _site_rows(site: Site) -> list[dict[str, object]]:
    sizes = {
        "head": site.n_heads,
        "head or 1": len(site.stored["mask"]),
        "query": len(site.query_tokens),
        "key": len(site.key_tokens),
        "d_head": site.stored["q"].shape[-1],
        "d_model": site.stored["attn_out"].shape[-1],
    }
    return [
        _row(
            f"{site.name}.{stage}",
            letters,
            tuple(sizes[letter] for letter in letters.split(", ")),
            site.stored.get(stage),
        )
        for stage, letters in LETTERS.items()
    ]


def _row(
    name: str, letters: str, shape: tuple[int, ...], stored: Tensor | None
) -> dict[str, object]:
    n_bytes = 0 if stored is None else stored.nbytes
    return {
        "name": name,
        "letters": letters,
        "shape": shape,
        "stored": stored is not None,
        "bytes": n_bytes,
    }


def long_frame(site: Site, stage: str, head: int | None = None) -> pd.DataFrame:
    """One row a number: head, query, key with their tokens, or head, position, dimension.

    Raises `InputError` for a stage or a head that there is not.
    """
    array = site.stage(stage)
    heads = np.arange(array.shape[0])
    if head is not None:
        check_head(site.n_heads, head)
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
