"""A run of the crowd in numbers."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.crowd.answers import Answer
from benchmarks.crowd.server import Use

SENTENCES = "· new sentence, minilm, all"
QUICK = ("head", "layer", "stage")
TOGETHER: dict[str, Callable[[str], bool]] = {  # the kinds that the aims are about
    "· head, layer or stage": lambda kind: kind in QUICK,
    SENTENCES: lambda kind: kind.startswith("new sentence, minilm"),
    "· everything but opening": lambda kind: kind not in ("open", "come back"),
}


def kinds(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """A row for each kind of action: how many, percentiles in ms, what went wrong."""
    names = dict.fromkeys(sorted(answer.kind for answer in answers))
    rows = [_row(name, [a for a in answers if a.kind == name]) for name in names]
    for name, belongs in TOGETHER.items():
        rows.append(_row(name, [answer for answer in answers if belongs(answer.kind)]))
    return [row for row in rows if row["n"]]


def percentile(answers: Sequence[Answer], percent: float) -> float:
    """Of the milliseconds of those that were answered; NaN for none."""
    times = [answer.ms for answer in answers if answer.ms]
    return float(np.percentile(times, percent)) if times else float("nan")


def _row(name: str, answers: list[Answer]) -> dict[str, Any]:
    row: dict[str, Any] = {"action": name, "n": len(answers)}
    for percent in (50, 95, 99):
        row[f"p{percent}, ms"] = percentile(answers, percent)
    problems = [answer.problem for answer in answers]
    row["errors"] = sum(bool(p) and not _is_wrong(p) and not _is_refused(p) for p in problems)
    row["refused"] = sum(map(_is_refused, problems))
    row["mix-ups"] = sum(problem.startswith("mix-up") for problem in problems)
    row["wrong"] = sum(problem.startswith("wrong") for problem in problems)
    row["checked"] = sum(answer.values is not None for answer in answers)
    return row


def _is_wrong(problem: str) -> bool:
    return problem.startswith(("mix-up", "wrong"))


def _is_refused(problem: str) -> bool:
    return problem.startswith("refused")


def problems(answers: Sequence[Answer], most: int = 12) -> list[str]:
    """What went wrong, the commonest first."""
    found = Counter(
        f"{answer.kind}: {re.sub(r'[0-9]+', 'N', answer.problem)}"
        for answer in answers
        if answer.problem
    )
    return [f"{n} × {problem}" for problem, n in found.most_common(most)]


def memory(uses: Sequence[Use], start: float, steps: int = 12) -> list[dict[str, Any]]:
    """The server's memory and share of a core over time, in at most so many rows."""
    rows = []
    every = max(1, len(uses) // steps)
    for before, after in zip(uses[::every], uses[every::every], strict=False):
        share = (after.cpu - before.cpu) / (after.at - before.at)
        rows.append({"at, s": after.at - start, "memory, MB": after.rss, "cores": max(share, 0.0)})
    return rows
