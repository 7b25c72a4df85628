"""Roles of heads, by measurement: on fixed sentences, with a threshold, a baseline and a spread."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from tokenizers import Tokenizer

from attention_lab.analysis.heads import (
    MEASURES,
    PLACE,
    SHARES,
    baseline_table,
    head_table,
    part_of,
    uniform,
)
from attention_lab.config import Limits
from attention_lab.errors import InputError, LabError
from attention_lab.generation import greedy
from attention_lab.i18n import _
from attention_lab.tracing.record import max_tokens, trace, trace_ids
from attention_lab.tracing.trace import Trace
from attention_lab.zoo.loaded import Model

ROLES = (*SHARES, "induction")
THRESHOLD = 0.5  # a head that gives half of its attention to one thing has a role
DRAWS = 4  # induction: how many times random tokens are drawn
HALF = 25  # and how many, before they are repeated

# Never changed with the language: scores of two people have to be of the same sentences.
SENTENCES = (
    "The animal didn't cross the street because it was too tired.",
    "The dog saw the cat, and the cat saw the dog.",
    "When Mary and John went to the store, John gave a drink to Mary.",
    "She said that she would come, but she never came.",
    "The keys to the old cabinet in the kitchen are on the table.",
    "He reads a book about the history of the city, and she reads the paper.",
    "If it rains tomorrow, we will stay at home and play a game.",
    "The quick brown fox jumps over the lazy dog; the dog sleeps on.",
    "Water boils at a hundred degrees, and water freezes at zero.",
    "They bought bread, milk, eggs, and cheese at the market.",
    "The teacher asked the student a question, and the student answered it.",
    "In the morning the sun rises, and in the evening the sun sets.",
)

Progress = Callable[[int, int], None]  # runs done, runs in all


@dataclass(frozen=True, eq=False)
class RoleScores:
    """Mean, spread (standard deviation) over the texts, and baseline: one row a head, as in
    `head_table`, with a column "induction" besides."""

    mean: pd.DataFrame
    spread: pd.DataFrame
    baseline: pd.DataFrame

    def has_role(self, role: str, threshold: float = THRESHOLD) -> pd.Series:
        """By head: whether the score reaches the threshold, and by more than its spread lies above
        the baseline. NaN, a score that could not be measured, has no role."""
        score, spread, even = (t[role] for t in (self.mean, self.spread, self.baseline))
        reaches: pd.Series = (score >= threshold) & (score - spread > even)
        return reaches

    def labels(self, threshold: float = THRESHOLD) -> list[tuple[str, ...]]:
        """The roles of each head, the one with the highest score first; mostly there are none."""
        has = {role: self.has_role(role, threshold) for role in ROLES}
        return [
            tuple(
                sorted(
                    (role for role in ROLES if has[role].iloc[row]),
                    key=lambda role: -self.mean[role].iloc[row],
                )
            )
            for row in range(len(self.mean))
        ]

    def summary(self, part: str, threshold: float = THRESHOLD) -> pd.DataFrame:
        """One row a role that could be measured: how many heads of a part have it, threshold and
        baseline, and the head with the highest score, with its spread."""
        here = np.flatnonzero(self.mean["part"] == part)
        rows = []
        for role in ROLES:
            score, spread, even = (
                table[role].to_numpy()[here] for table in (self.mean, self.spread, self.baseline)
            )
            if np.isnan(score).all():
                continue
            best = int(np.nanargmax(score))
            rows.append(
                {
                    "role": role,
                    "heads": int(self.has_role(role, threshold).to_numpy()[here].sum()),
                    "threshold": threshold,
                    "baseline": even[best],
                    "score": score[best],
                    "spread": spread[best],
                    "layer": self.mean["layer"].to_numpy()[here[best]],
                    "head": self.mean["head"].to_numpy()[here[best]],
                }
            )
        return pd.DataFrame(rows)


def n_runs(model: Model) -> int:
    """How many times `measure_roles` runs the model."""
    return len(SENTENCES) + (DRAWS if model.config.kind == "decoder" else 0)


def measure_roles(model: Model, progress: Progress | None = None) -> RoleScores:
    """Run the model on the fixed sentences and, a decoder, on repeated random tokens.

    An encoder-decoder translates each sentence greedily and is measured on its own translation. It
    has no induction score: a decoder that has to translate says nothing about random tokens alone.
    Nor has a decoder with too few words or positions for it; its column is NaN.
    """
    found, even, limit = [], [], max_tokens(model.config, Limits.from_environment())
    for done, sentence in enumerate(SENTENCES, start=1):
        target = None if model.target_tokenizer is None else greedy(model, sentence).ids
        read = trace(model, sentence, target, limit=limit)
        found.append(head_table(read))
        even.append(baseline_table(read))
        if progress is not None:
            progress(done, n_runs(model))
    mean, spread, baseline = _mean(found), _spread(found), _mean(even)
    for table in (mean, spread, baseline):
        table["induction"] = np.nan
    if model.config.kind == "decoder":
        with suppress(LabError):
            scores = []
            for seed in range(DRAWS):
                scores.append(induction(model, seed)["score"])
                if progress is not None:
                    progress(len(SENTENCES) + seed + 1, n_runs(model))
            mean["induction"] = np.mean(scores, axis=0)
            spread["induction"] = np.std(scores, axis=0)
            baseline["induction"] = induction_score(uniform(np.tri(2 * HALF, dtype=bool)[None]))[0]
    return RoleScores(mean, spread, baseline)


def induction(model: Model, seed: int = 0, half: int = HALF) -> pd.DataFrame:
    """Each head's induction score on `half` random tokens and the same again (Olsson et al. 2022).

    One row a head: part, layer, head, score. Raises `InputError` for a model that is no decoder.
    """
    if model.config.kind != "decoder":
        message = _("Only decoders have induction heads to look for; {name} is none.")
        raise InputError(message.format(name=model.name))
    ids = ordinary_ids(model.tokenizer, half, seed)
    read = trace_ids(model, [*ids, *ids])
    return pd.concat([_induction_rows(read, site) for site in read.sites], ignore_index=True)


def induction_score(weights: Float[np.ndarray, "head n n"]) -> Float[np.ndarray, " head"]:
    """The mean weight from a token of the second half to the token after its first occurrence."""
    half = weights.shape[-1] // 2
    first = np.arange(half)
    score: np.ndarray = weights[:, half + first, first + 1].mean(axis=-1, dtype=np.float64)
    return score


def ordinary_ids(tokenizer: Tokenizer, n: int, seed: int) -> list[int]:
    """`n` different tokens, drawn at random from those that are words or the beginnings of words.

    Ordinary is a token of three letters or more and nothing else but a space. Raises `InputError`
    if the vocabulary has too few.
    """
    special = tokenizer.get_added_tokens_decoder()
    drawn: list[int] = []
    for id in map(int, np.random.default_rng(seed).permutation(tokenizer.get_vocab_size())):
        text = tokenizer.decode([id], skip_special_tokens=False).strip()
        if id not in special and len(text) >= 3 and text.isalpha():
            drawn.append(id)
        if len(drawn) == n:
            return drawn
    message = _("The vocabulary has {n} ordinary words; the measure needs {wanted}.")
    raise InputError(message.format(n=len(drawn), wanted=n))


def _induction_rows(read: Trace, site: str) -> pd.DataFrame:
    score = induction_score(read[site].weights)
    layer = int(site.split(".")[1])
    place = {"part": part_of(site), "layer": layer, "head": range(len(score))}
    return pd.DataFrame({**place, "score": score})


def _mean(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """By head, over the texts that say something; the heads in the order of the tables."""
    return pd.concat(tables).groupby(PLACE, sort=False)[list(MEASURES)].mean().reset_index()


def _spread(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """The standard deviation of the same."""
    by_head = pd.concat(tables).groupby(PLACE, sort=False)[list(MEASURES)]
    return by_head.std(ddof=0).reset_index()
