"""Numbers about a panel and about what a change did to the output."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from attention_lab.analysis.panel import Panel
from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.tracing.trace import Trace


def entropy(weights: Float[np.ndarray, "*rows key"]) -> Float[np.ndarray, "*rows"]:
    """Shannon entropy of each row in bits, -Σ w log2 w: 0 = one key only, log2(n) = n keys evenly.

    NaN (closed cells) counts as 0.
    """
    w = np.nan_to_num(weights).astype(np.float64)
    bits: np.ndarray = -(w * np.log2(w, where=w > 0, out=np.zeros_like(w))).sum(axis=-1)
    return bits


def row_statistics(panel: Panel) -> pd.DataFrame:
    """One row a query: smallest, largest and mean value over open cells.

    Weights get their entropy as well, where each row is a distribution: a maximum over heads, or a
    row without its special tokens, does not sum to 1 and has none.
    """
    texts = [token.text for token in panel.rows]
    table = pd.DataFrame({"position": range(len(texts)), "token": texts})
    is_open = ~np.isnan(panel.values)
    some = is_open.any(axis=1)
    count = np.maximum(is_open.sum(axis=1), 1)
    lowest = np.where(is_open, panel.values, np.inf).min(axis=1, initial=np.inf)
    highest = np.where(is_open, panel.values, -np.inf).max(axis=1, initial=-np.inf)
    mean = np.where(is_open, panel.values, 0).sum(axis=1, dtype=np.float64) / count
    table["smallest"] = np.where(some, lowest, np.nan)
    table["largest"] = np.where(some, highest, np.nan)
    table["mean"] = np.where(some, mean, np.nan)
    sums = np.nansum(panel.values, axis=1, dtype=np.float64)
    distributions = bool(np.all((np.abs(sums - 1) < 1e-3) | (sums == 0)))
    if panel.stage == "weights" and not panel.is_difference and distributions:
        table["entropy"] = entropy(panel.values)
    return table


def as_table(panel: Panel) -> pd.DataFrame:
    """The panel as it is drawn: a row a query, a column a key, both named "position token"."""
    names = [f"{i} {token.text}" for i, token in enumerate(panel.rows)]
    columns = range(panel.values.shape[1])
    headings = (
        [str(i) for i in columns]
        if panel.columns is None
        else [f"{i} {token.text}" for i, token in enumerate(panel.columns)]
    )
    return pd.DataFrame(panel.values, index=names, columns=headings)


def closed_rows(panel: Panel) -> list[int]:
    """Positions whose query may attend to nothing."""
    if panel.blocked is None:
        return []
    return [int(row) for row in np.flatnonzero(panel.blocked.all(axis=1))]


@dataclass(frozen=True)
class OutputShift:
    """How far a change moved the output.

    `largest` is the largest absolute difference of the last hidden state; `cosine` the smallest
    cosine similarity of a position's hidden state before and after. With logits: `divergence` is
    KL(before ‖ after) of the next token at the last position in bits, and the two likeliest ids.
    """

    largest: float
    cosine: float
    divergence: float | None
    next_before: int | None
    next_after: int | None


def cosines(
    a: Float[np.ndarray, "position d"], b: Float[np.ndarray, "position d"]
) -> Float[np.ndarray, " position"]:
    """The cosine similarity of each row of `a` with the same row of `b`, in float64."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    found: np.ndarray = (a * b).sum(axis=1) / np.maximum(norms, 1e-30)
    return found


def output_shift(before: Trace, after: Trace) -> OutputShift:
    """Compare the outputs of two runs on the same tokens."""
    cosine = float(cosines(before.hidden, after.hidden).min())
    largest = float(np.abs(before.hidden.astype(np.float64) - after.hidden).max())
    p, q = next_token(before), next_token(after)
    if p is None or q is None:
        return OutputShift(largest, cosine, None, None, None)
    ratio = np.log2(np.maximum(p, 1e-300)) - np.log2(np.maximum(q, 1e-300))
    divergence = max(0.0, float((p * ratio).sum()))
    return OutputShift(largest, cosine, divergence, int(p.argmax()), int(q.argmax()))


def token_ranks(trace: Trace, ids: Sequence[int]) -> pd.DataFrame:
    """For each id, as the continuation of position 0, 1, …: log-probability (natural) and rank.

    Rank 1 is the likeliest token. Raises `InputError` for a model without logits.
    """
    logits = trace.logits
    if logits is None:
        raise InputError(_("This model has no output over tokens."))
    chosen = logits[: len(ids)].astype(np.float64)
    own = chosen[np.arange(len(ids)), list(ids)]
    top = chosen.max(axis=1)
    total = top + np.log(np.exp(chosen - top[:, None]).sum(axis=1))
    rank = 1 + (chosen > own[:, None]).sum(axis=1)
    return pd.DataFrame({"log-probability": own - total, "rank": rank})


def next_token(trace: Trace, position: int = -1) -> Float[np.ndarray, " d_vocab"] | None:
    """The probabilities of the next token after a position; None for a model without logits."""
    logits = trace.logits_at(position)
    if logits is None:
        return None
    shifted = np.exp(logits.astype(np.float64) - logits.max())
    probabilities: np.ndarray = shifted / shifted.sum()
    return probabilities


@dataclass(frozen=True)
class Candidate:
    """A token that may come next, and its probability in two runs."""

    id: int
    before: float
    after: float


def next_tokens(before: Trace, after: Trace, n: int = 6) -> tuple[Candidate, ...]:
    """The `n` likeliest next tokens of each of two runs, the likeliest before first.

    Empty for a model without an output over tokens.
    """
    p, q = next_token(before), next_token(after)
    if p is None or q is None:
        return ()
    ids = {int(id) for each in (p, q) for id in np.argsort(-each, kind="stable")[:n]}
    order = sorted(ids, key=lambda id: (-p[id], -q[id], id))
    return tuple(Candidate(id, float(p[id]), float(q[id])) for id in order)


def token_shifts(
    before: Float[np.ndarray, "position d_model"], after: Float[np.ndarray, "position d_model"]
) -> pd.DataFrame:
    """How far each token's output moved: cosine similarity (1 = not at all), largest change."""
    a, b = before.astype(np.float64), after.astype(np.float64)
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosine = np.clip((a * b).sum(axis=1) / np.maximum(norms, 1e-30), -1, 1)
    return pd.DataFrame({"cosine": cosine, "largest": np.abs(a - b).max(axis=1)})
