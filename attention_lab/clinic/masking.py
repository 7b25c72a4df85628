"""Bugs of the mask: the wrong way round, too late, and rows with nothing left to look at."""

from math import inf

import torch
from torch import Tensor

from attention_lab.clinic.exhibit import (
    Complaint,
    Exhibit,
    Function,
    Result,
    Side,
    Table,
    pairs,
    passes,
    said,
    spread,
    written,
)
from attention_lab.clinic.subject import Subject
from attention_lab.i18n import _


def blocks_where_zero(scores: Tensor, future: Tensor) -> Tensor:
    """future: True = blocked."""
    blocked = future == 0
    scores = scores.masked_fill(blocked, -inf)
    return scores.softmax(dim=-1)


def blocks_where_true(scores: Tensor, future: Tensor) -> Tensor:
    """future: True = blocked."""
    scores = scores.masked_fill(future, -inf)
    return scores.softmax(dim=-1)


def adds_after_softmax(scores: Tensor, future: Tensor) -> Tensor:
    """Shared out before the mask comes."""
    zeros = torch.zeros_like(scores)
    penalty = zeros.masked_fill(future, -inf)
    return scores.softmax(dim=-1) + penalty


def multiplies_after_softmax(scores: Tensor, future: Tensor) -> Tensor:
    """Quiet: what the future got is lost."""
    return scores.softmax(dim=-1) * ~future


def adds_before_softmax(scores: Tensor, future: Tensor) -> Tensor:
    """e^−∞ = 0: the others share it all."""
    zeros = torch.zeros_like(scores)
    penalty = zeros.masked_fill(future, -inf)
    return (scores + penalty).softmax(dim=-1)


def check_mask(attend: Function) -> None:
    """None for the future; rows sum to 1."""
    future = torch.ones(4, 4).triu(1).bool()
    weights = attend(torch.zeros(4, 4), future)
    assert (weights[future] == 0).all()
    sums = weights.sum(dim=-1)
    assert torch.allclose(sums, torch.ones(4))


def fills_with_infinity(scores: Tensor, mask: Tensor) -> Tensor:
    """mask: True = may attend."""
    scores = scores.masked_fill(~mask, -inf)
    return scores.softmax(dim=-1)  # 0 / 0 = NaN


def fills_with_a_billion(scores: Tensor, mask: Tensor) -> Tensor:
    """A closed row looks at everything alike."""
    scores = torch.where(mask, scores, -1e9)
    return scores.softmax(dim=-1)


def zeros_in_closed_rows(scores: Tensor, mask: Tensor) -> Tensor:
    """A closed row takes nothing."""
    scores = scores.masked_fill(~mask, -inf)
    weights = scores.softmax(dim=-1)
    closed = ~mask.any(dim=-1, keepdim=True)
    return weights.masked_fill(closed, 0.0)


def check_closed_row(attend: Function) -> None:
    """No NaN; no weight where the mask is closed."""
    mask = torch.tensor([[1, 1, 0], [0, 0, 0]]).bool()
    weights = attend(torch.zeros(2, 3), mask)
    assert weights.isfinite().all()
    assert (weights[~mask] == 0).all()


def exhibits() -> tuple[Exhibit, ...]:
    """The three exhibits, in the order of a lesson."""
    return (
        Exhibit(
            "polarity",
            _("The mask the wrong way round"),
            _(
                "The mask says True where a token is blocked; the code blocks where the mask is 0. "
                "Every token sees only the future, and the last one sees nothing at all."
            ),
            check_mask,
            _("Agree on one meaning for the whole program (here: True = may attend) and test it."),
            _polarity,
        ),
        Exhibit(
            "late",
            _("The mask added after the softmax"),
            _(
                "The softmax has already given weight to the future when the mask comes. Adding "
                "−∞ now ruins the sums; multiplying by 0 only loses what the future was given."
            ),
            check_mask,
            _("Mask the scores, then take the softmax."),
            _late,
        ),
        Exhibit(
            "closed",
            _("A row that may look at nothing"),
            _(
                "A query whose keys are all masked, as padding often is: the softmax of nothing "
                "but −∞ is 0 / 0, and the NaN spreads to everything after it."
            ),
            check_closed_row,
            _("Give fully masked rows weights of zero; do not trade −∞ for −1e9."),
            _closed,
        ),
    )


def _future(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).triu(1)


def _on_future(weights: Tensor, future: Tensor) -> str:
    """The share of all finite weight that lies on later tokens."""
    finite = weights.nan_to_num(0.0, 0.0, 0.0)
    return f"{float(finite[future].sum() / finite.sum().clamp_min(1e-30)):.1%}"


def _polarity(subject: Subject, _setting: int) -> Result:
    future = _future(subject.n)

    def side(attend: Function, blocked: Tensor) -> Side:
        weights = attend(subject.scores, future)
        numbers = (
            (_("Attention that goes to later tokens"), _on_future(weights, future)),
            (_("Rows that are NaN"), str(int(weights.isnan().any(dim=-1).sum()))),
        )
        closed = blocked & ~weights.isnan()  # a row of NaN is shown as what it is
        matrix = pairs(subject.labels, weights, closed)
        return Side((attend,), matrix, numbers, passes(check_mask, attend))

    return Result(side(blocks_where_zero, ~future), side(blocks_where_true, future))


def _late(subject: Subject, _setting: int) -> Result:
    future, v = _future(subject.n), subject.v[subject.head]

    def numbers(weights: Tensor) -> tuple[tuple[str, str], ...]:
        broken = int((~torch.isfinite(weights @ v)).sum())
        return (
            (_("Sum of a row"), spread(weights.sum(dim=-1))),
            (_("Numbers of the output that are not finite"), f"{broken:,}"),
        )

    wrong = adds_after_softmax(subject.scores, future)
    sums = multiplies_after_softmax(subject.scores, future).sum(dim=-1)
    right = adds_before_softmax(subject.scores, future)
    return Result(
        Side(
            (adds_after_softmax, multiplies_after_softmax),
            pairs(subject.labels, wrong),
            (*numbers(wrong), (_("Sum of a row, multiplied by 0 instead"), spread(sums))),
            passes(check_mask, adds_after_softmax) or passes(check_mask, multiplies_after_softmax),
        ),
        Side(
            (adds_before_softmax,),
            pairs(subject.labels, right, future),
            numbers(right),
            passes(check_mask, adds_before_softmax),
        ),
    )


def _closed(subject: Subject, _setting: int) -> Result:
    row = subject.n // 2
    mask = subject.mask.clone()
    mask[row] = False

    def side(attend: Function, *more: Function) -> Side:
        weights = attend(subject.scores, mask)
        closed = ~mask & ~weights.isnan()
        z = weights @ subject.v[subject.head]
        numbers = (
            (_("Weights that are NaN"), str(int(weights.isnan().sum()))),
            (_("Numbers of the output that are NaN"), str(int(z.isnan().sum()))),
        )
        complaints = _half_complaint(subject.scores, mask) if more else ()
        accepted = passes(check_closed_row, attend)
        matrix = pairs(subject.labels, weights, closed)
        return Side((attend, *more), matrix, numbers, accepted, complaints)

    note = _("Closed here is the row of “{token}”, number {row}.")
    return Result(
        side(fills_with_infinity, fills_with_a_billion),
        side(zeros_in_closed_rows),
        table=_precisions(subject.scores, mask, row),
        note=note.format(token=subject.labels[row], row=row),
    )


def _half_complaint(scores: Tensor, mask: Tensor) -> tuple[Complaint, ...]:
    """What PyTorch says when -1e9 is to be filled into half precision."""
    text = said(lambda: scores.half().masked_fill(~mask, -1e9))
    meaning = _(
        "This is masked_fill with −1e9 in half precision: its largest number is 65,504. Other ways "
        "to write it turn −1e9 into −∞ without a word."
    )
    return () if text is None else (Complaint(text, meaning),)


def _precisions(scores: Tensor, mask: Tensor, row: int) -> Table:
    """The closed row with both fillings in three number formats."""
    ways = (fills_with_infinity, fills_with_a_billion, zeros_in_closed_rows)

    def row_of(dtype: torch.dtype) -> tuple[str, ...]:
        name, billion = str(dtype).removeprefix("torch."), torch.tensor(-1e9, dtype=dtype)
        found = (attend(scores.to(dtype), mask)[row] for attend in ways)
        return (name, written(billion), *map(spread, found))

    headings = (
        _("number format"),
        _("−1e9 becomes"),
        _("closed row with −∞"),
        _("closed row with −1e9"),
        _("closed row, right"),
    )
    return Table(headings, tuple(map(row_of, (torch.float32, torch.float16, torch.bfloat16))))
