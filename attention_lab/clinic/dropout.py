"""A bug of modes: dropout that is still on when the model is used."""

import math

import torch
from torch import Tensor

from attention_lab.clinic.exhibit import (
    Exhibit,
    Function,
    Matrix,
    Result,
    Setting,
    Side,
    pairs,
    passes,
    spread,
    written,
)
from attention_lab.clinic.subject import Subject
from attention_lab.i18n import _

PERCENT = (5, 10, 20, 30, 50)


def dropout(weights: Tensor, p: float, seed: int) -> Tensor:
    """0 with probability p; the rest grow."""
    luck = torch.Generator().manual_seed(seed)
    drawn = torch.rand(weights.shape, generator=luck)
    return weights * (drawn >= p) / (1 - p)


def still_training(scores: Tensor, p: float, seed: int) -> Tensor:
    """As training left it: no eval()."""
    weights = scores.softmax(dim=-1)
    return dropout(weights, p, seed)


def evaluating(scores: Tensor, p: float, seed: int) -> Tensor:
    """After eval(): dropout does nothing."""
    return scores.softmax(dim=-1)


def check_evaluation(attend: Function) -> None:
    """Two runs agree, and rows sum to 1."""
    scores = torch.zeros(8, 8)
    first = attend(scores, 0.5, 1)
    second = attend(scores, 0.5, 2)
    assert torch.equal(first, second)
    assert torch.allclose(first.sum(-1), torch.ones(8))


def exhibits() -> tuple[Exhibit, ...]:
    """The exhibit."""
    return (
        Exhibit(
            "dropout",
            _("Dropout left on"),
            _(
                "eval() was forgotten, so the model goes on dropping weights at random and "
                "enlarging the rest. The same sentence gives another output at every run."
            ),
            check_evaluation,
            _("Call model.eval() before you use or picture a model, and compare two runs."),
            _dropout,
            _percent,
        ),
    )


def _percent(subject: Subject) -> Setting:
    return Setting("drop", _("Dropped (percent)"), PERCENT, 10)


def _dropout(subject: Subject, percent: int) -> Result:
    scores, p = subject.scores.masked_fill(~subject.mask, -math.inf), percent / 100

    def side(attend: Function, *more: Function) -> Side:
        weights, again = attend(scores, p, 1), attend(scores, p, 2)
        v = subject.v[subject.head]
        numbers = (
            (
                _("Two runs: largest difference of the output"),
                written((again @ v - weights @ v).abs().max()),
            ),
            (_("Sum of a row"), spread(weights.sum(dim=-1))),
            (_("Largest weight"), written(weights.max())),
        )
        found = pairs(subject.labels, weights, ~subject.mask)
        matrix = Matrix(
            found.values,
            found.rows,
            found.columns,
            found.titles,
            "size",
            found.closed,
            found.closed_title,
        )
        return Side((*more, attend), matrix, numbers, passes(check_evaluation, attend))

    return Result(side(still_training, dropout), side(evaluating))
