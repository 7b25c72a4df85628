"""Bugs that one sentence does not show: padding that is looked at, and a future that leaks."""

import torch
from torch import Tensor

from attention_lab.analysis.leak import another, changeable
from attention_lab.clinic.exhibit import (
    Exhibit,
    Function,
    Matrix,
    Result,
    Setting,
    Side,
    passes,
    written,
)
from attention_lab.clinic.subject import Forward, Subject, capturing
from attention_lab.i18n import _
from attention_lab.model import masks
from attention_lab.tracing.batch import pad, pads_left

MOST_PADDING = 32


def no_padding_mask(forward: Forward, ids: Tensor, real: Tensor, own: Tensor) -> Tensor:
    """Padding is read as words."""
    return forward(ids, mask=own)


def padding_masked(forward: Forward, ids: Tensor, real: Tensor, own: Tensor) -> Tensor:
    """real: True = a token (batch, key)."""
    keys = real[:, None, None, :]
    return forward(ids, mask=own & keys)


def check_batch(alone: Tensor, in_batch: Tensor) -> None:
    """Its company does not change a sentence."""
    off = (alone - in_batch).abs().max()
    assert off <= 1e-5 * alone.abs().max()


def causal_off_by_one(n: int) -> Tensor:
    """True = may attend: one token too many."""
    return torch.ones(n, n).tril(1).bool()


def causal(n: int) -> Tensor:
    """True = may attend: itself and the past."""
    return torch.ones(n, n).tril().bool()


def check_no_leak(before: Tensor, after: Tensor, place: int) -> None:
    """Token `place` changed: what is before stays."""
    moved = before[:place] != after[:place]
    assert not moved.any()


def exhibits() -> tuple[Exhibit, ...]:
    """The two exhibits, in the order of a lesson."""
    return (
        Exhibit(
            "padding",
            _("A padded batch without a padding mask"),
            _(
                "To go through the model together with a longer one, your sentence is filled up "
                "with padding. Without a padding mask its tokens look at the padding, and the same "
                "sentence gives another output."
            ),
            check_batch,
            _("Mask the padding's keys in every attention, and test a sentence alone against it."),
            _padding,
            _pads,
        ),
        Exhibit(
            "leak",
            _("The future leaks"),
            _(
                "A causal mask that is off by one lets each token see the next one. One layer "
                "leaks one token, the next layer one more: training looks wonderful, and writing "
                "fails."
            ),
            check_no_leak,
            _("Change a later token in a test: no output before it may move, not by one bit."),
            _leak,
        ),
    )


def _pads(subject: Subject) -> Setting:
    room = subject.config.max_positions - subject.n
    most = max(1, min(MOST_PADDING, room))
    return Setting("pads", _("Padding tokens"), tuple(range(1, most + 1)), min(8, most))


def _padding(subject: Subject, pads: int) -> Result:
    n, left = subject.n, pads_left(subject.config)
    total, own_ids = n + pads, subject.ids[0].tolist()
    longer = (own_ids * (total // n + 1))[:total]  # this sentence's tokens, over and over
    ids, real = pad([own_ids, longer], subject.trace.model.card.pad_id or 0, left)
    place = slice(pads, None) if left else slice(n)
    own = (masks.causal if subject.is_causal else masks.none)(total, total)[None, None]
    with capturing():
        alone = subject.forward(subject.ids)[0]
    labels = list(subject.labels)
    blanks = ["·"] * pads
    columns = tuple(blanks + labels if left else labels + blanks)

    def side(run: Function, mask: Tensor) -> Side:
        with capturing() as captured:
            out = run(subject.forward, ids, real, own)[0, place]
            weights = captured[f"{subject.site.name}.weights"][subject.head, place]
        moved = (alone - out).abs().max() / alone.abs().max()
        numbers = (
            (_("Output alone and in the batch, largest difference"), written(moved)),
            (_("Attention that goes to padding"), f"{float(weights[:, ~real[0]].sum() / n):.1%}"),
        )
        titles = (_("query (looks)"), _("key (is looked at); · = padding"), _("weight"))
        closed = (~mask[0, 0, place]).numpy()
        closed_title = _("masked")
        matrix = Matrix(
            weights.numpy(), subject.labels, columns, titles, "share", closed, closed_title
        )
        return Side((run,), matrix, numbers, passes(check_batch, alone, out))

    note = _("The difference is measured against the output's largest number.")
    if subject.is_causal:
        note += " " + (
            _("A model that writes is padded on the left, so that its last token is real.")
            if left
            else _("Padding on the right comes later than every token: a causal mask hides it.")
        )
    return Result(
        side(no_padding_mask, own),
        side(padding_masked, own & real[:1, None, None, :]),
        note=note,
    )


def _leak(subject: Subject, _setting: int) -> Result:
    place = changeable(subject.trace.tokens[: subject.n])
    new = another(subject.trace.tokens[: subject.n], place, subject.config.d_vocab)
    ids = subject.ids
    changed = ids.clone()
    changed[0, place] = new

    def side(make_mask: Function) -> Side:
        mask = make_mask(subject.n)[None, None]
        streams, outputs = [], []
        for each in (ids, changed):
            with capturing() as captured:
                outputs.append(subject.forward(each, mask=mask)[0])
            names = [f"{subject.stack}.{i}.post" for i in range(subject.config.n_layers)]
            streams.append(torch.stack([captured[name] for name in names]))
        before, after = streams
        moved = (after - before).norm(dim=-1) / before.norm(dim=-1).clamp_min(1e-30)
        earlier = (outputs[1] - outputs[0])[:place].abs()
        numbers = (
            (_("Earlier tokens whose output moved"), f"{int((earlier > 0).any(dim=-1).sum())}"),
            (_("Largest change of an earlier output"), written(earlier.max() if place else 0.0)),
        )
        titles = (_("layer"), _("token"), _("change, relative"))
        rows = tuple(map(str, range(len(moved))))
        matrix = Matrix(moved.numpy(), rows, subject.labels, titles, "size")
        return Side((make_mask,), matrix, numbers, passes(check_no_leak, *outputs, place))

    note = _("Changed is token {place}, “{old}”. Each row shows how far a layer's outputs moved.")
    if not subject.is_causal:
        note += " " + _("This model has no causal mask of its own; it runs with one here.")
    note = note.format(place=place, old=subject.labels[place])
    return Result(side(causal_off_by_one), side(causal), note=note)
