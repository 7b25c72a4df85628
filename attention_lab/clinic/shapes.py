"""Bugs of shapes: heads that meet heads, a view that does not fit, heads that do not divide."""

import torch
from torch import Tensor

from attention_lab.clinic import shape_errors
from attention_lab.clinic.exhibit import (
    Complaint,
    Exhibit,
    Function,
    Matrix,
    Result,
    Setting,
    Side,
    pairs,
    passes,
    said,
    written,
)
from attention_lab.clinic.subject import Subject
from attention_lab.i18n import _

LAST_DIMENSIONS = 24
MOST_HEADS = 16


def heads_meet_heads(x: Tensor, n_heads: int) -> tuple[Tensor, Tensor]:
    """x: batch, length, 3 · heads · d."""
    batch, length, width = x.shape
    d = width // (3 * n_heads)
    x = x.reshape(batch, length, 3, n_heads, d)
    # batch, length, head, d
    q, k, v = x.unbind(2)
    scores = q @ k.transpose(-2, -1) / d**0.5
    weights = scores.softmax(dim=-1)
    z = weights @ v
    return weights, z.flatten(2)


def tokens_meet_tokens(x: Tensor, n_heads: int) -> tuple[Tensor, Tensor]:
    """x: batch, length, 3 · heads · d."""
    batch, length, width = x.shape
    d = width // (3 * n_heads)
    x = x.reshape(batch, length, 3, n_heads, d)
    # batch, head, length, d
    q, k, v = x.transpose(1, 3).unbind(2)
    scores = q @ k.transpose(-2, -1) / d**0.5
    weights = scores.softmax(dim=-1)
    z = (weights @ v).transpose(1, 2)
    return weights, z.flatten(2)


def check_tokens_meet(attend: Function) -> None:
    """Change the last token: the first notices."""
    x = torch.arange(120.0).sin().view(1, 5, 24)
    _weights, before = attend(x, 2)
    x[:, -1] += 1
    _weights, after = attend(x, 2)
    assert (before[:, 0] != after[:, 0]).any()


def view_after_transpose(z: Tensor) -> Tensor:
    """z: head, length, d. PyTorch refuses."""
    z = z.transpose(0, 1)
    return z.view(len(z), -1)


def reshape_alone(z: Tensor) -> Tensor:
    """Runs, and mixes the tokens."""
    return z.reshape(z.shape[1], -1)


def transpose_and_reshape(z: Tensor) -> Tensor:
    """head, length, d → length, head · d."""
    z = z.transpose(0, 1)
    return z.reshape(len(z), -1)


def check_merge(merge: Function) -> None:
    """Row i holds the numbers of token i alone."""
    token = torch.arange(3)
    z = token.view(1, 3, 1).repeat(2, 1, 4)
    assert (merge(z) == token[:, None]).all()


def split_rounded_down(x: Tensor, n_heads: int) -> Tensor:
    """x: length, d_model. Something is left over."""
    length, d_model = x.shape
    d = d_model // n_heads
    return x.view(length, n_heads, d)


def split_cut_off(x: Tensor, n_heads: int) -> Tensor:
    """Made to fit: the last are in no head."""
    length, d_model = x.shape
    d = d_model // n_heads
    x = x[:, : n_heads * d]
    return x.view(length, n_heads, d)


def split_evenly(x: Tensor, n_heads: int) -> Tensor:
    """Says what is wrong, and says it early."""
    length, d_model = x.shape
    d, rest = divmod(d_model, n_heads)
    if rest:
        raise ValueError(f"left over: {rest}")
    return x.view(length, n_heads, d)


def check_split(split: Function, x: Tensor, n_heads: int) -> None:
    """As many numbers come out as went in."""
    heads = split(x, n_heads)
    assert heads.numel() == x.numel()


def exhibits() -> tuple[Exhibit, ...]:
    """The three exhibits, in the order of a lesson."""
    return (
        Exhibit(
            "heads",
            _("Heads that attend to heads"),
            _(
                "The heads stay behind the positions, so the product compares the heads of one "
                "token with each other. It runs, it trains, and no token ever sees another one."
            ),
            check_tokens_meet,
            _("Move the head axis in front of the positions before q times k."),
            _heads,
        ),
        Exhibit(
            "view",
            _("view after transpose"),
            _(
                "transpose only changes how memory is read, so view refuses. Whoever then leaves "
                "the transpose out gets the right shape with the wrong tokens in it."
            ),
            check_merge,
            _("Transpose, then reshape (or contiguous, then view)."),
            _view,
        ),
        Exhibit(
            "divide",
            _("d_model does not divide by the heads"),
            _(
                "The division is rounded down. Either the shapes do not fit, or the code is made "
                "to fit and the last dimensions belong to no head."
            ),
            check_split,
            _("Check d_model % n_heads == 0 when the model is built."),
            _divide,
            _head_counts,
        ),
    )


def _heads(subject: Subject, _setting: int) -> Result:
    stacked = torch.stack([subject.q, subject.k, subject.v])  # 3, head, n, d
    x = stacked.permute(2, 0, 1, 3).flatten(1)[None]
    n_heads, n = subject.q.shape[:2]
    changed = x.clone()
    changed[:, -1] += 1

    def side(attend: Function, letters: str, matrix: Matrix) -> Side:
        weights, before = attend(x, n_heads)
        moved = (attend(changed, n_heads)[1] - before)[:, : n - 1].abs()
        numbers = (
            (_("Shape of the weights: {letters}").format(letters=letters), str([*weights.shape])),
            (
                _("Change of other tokens when the last one changes"),
                written(moved.max() if n > 1 else 0.0),
            ),
        )
        return Side((attend,), matrix, numbers, passes(check_tokens_meet, attend))

    names = tuple(_("head {n}").format(n=i) for i in range(n_heads))
    titles = (_("head (looks)"), _("head (is looked at)"), _("weight"))
    wrong = heads_meet_heads(x, n_heads)[0][0, 0].numpy()
    right = tokens_meet_tokens(x, n_heads)[0][0, subject.head]
    note = _(
        "On the left the first token's heads, on the right the tokens in the chosen head, both "
        "from this layer's own q, k and v and without a mask."
    )
    return Result(
        side(heads_meet_heads, "(1, L, H, H)", Matrix(wrong, names, names, titles)),
        side(tokens_meet_tokens, "(1, H, L, L)", pairs(subject.labels, right)),
        note=note,
    )


def _view(subject: Subject, _setting: int) -> Result:
    z = torch.tensor(subject.site.z[:, : subject.n])
    w_o = subject.layers[subject.layer].get_submodule("self_attn.w_o")
    own = torch.tensor(subject.site.attn_out[: subject.n])

    def side(merge: Function, *more: Function) -> Side:
        with torch.inference_mode():
            off = (w_o(merge(z)) - own).abs().max()
        numbers = (
            (_("Largest deviation from the model's own output"), written(off)),
            (_("Numbers that stand in another token's row"), f"{_misplaced(merge, z):.1%}"),
        )
        complaints = _view_complaints(z) if more else ()
        matrix = _origins(subject, merge, z)
        return Side((*more, merge), matrix, numbers, passes(check_merge, merge), complaints)

    note = _("The picture shows whose numbers stand in each token's row after the merge.")
    return Result(side(reshape_alone, view_after_transpose), side(transpose_and_reshape), note=note)


def _sources(merge: Function, z: Tensor) -> Tensor:
    """Which token each number of the merged rows comes from: the merge of the tokens' numbers."""
    heads, n, d = z.shape
    merged: Tensor = merge(torch.arange(n).view(1, n, 1).repeat(heads, 1, d))
    return merged


def _misplaced(merge: Function, z: Tensor) -> float:
    sources = _sources(merge, z)
    return float((sources != torch.arange(len(sources))[:, None]).float().mean())


def _origins(subject: Subject, merge: Function, z: Tensor) -> Matrix:
    sources = _sources(merge, z)
    shares = (sources[:, :, None] == torch.arange(subject.n)).float().mean(dim=1)
    titles = (_("row of"), _("numbers from"), _("share"))
    return Matrix(shares.numpy(), subject.labels, subject.labels, titles)


def _view_complaints(z: Tensor) -> tuple[Complaint, ...]:
    """The errors of `view`, as PyTorch puts them."""
    _heads, n, d = z.shape
    found = []
    if text := said(view_after_transpose, z):
        meaning = _(
            "After transpose, neighbours in a row are no longer neighbours in memory, and view "
            "never moves numbers. reshape copies them; contiguous() does too."
        )
        found.append(Complaint(text, meaning))
    for tensor, shape in ((z, (n, d)), (torch.empty(131_072), (32, 8, 128))):
        if text := said(tensor.view, shape):
            found.append(Complaint(text, shape_errors.explain(text)))
    return tuple(found)


def _head_counts(subject: Subject) -> Setting:
    width = subject.q.shape[0] * subject.q.shape[2]
    counts = range(1, min(MOST_HEADS, width) + 1)
    default = next((n for n in counts if width % n), counts[-1])
    return Setting("split", _("Number of heads to split into"), tuple(counts), default)


def _divide(subject: Subject, n_heads: int) -> Result:
    x = subject.q.transpose(0, 1).flatten(1)  # n, head · d
    width = x.shape[1]
    fitting = min((n for n in range(1, width + 1) if not width % n), key=lambda n: abs(n - n_heads))

    def side(split: Function, heads: int, *more: Function) -> Side:
        done = split(x, heads)
        lost = width - done[0].numel()
        numbers = (
            (
                _("Dimensions a head: {width} / {n}").format(width=width, n=heads),
                str(width // heads),
            ),
            (_("Dimensions that are in no head"), str(lost)),
        )
        matrix = _tail(subject, x, lost)
        texts = [said(function, x, n_heads) for function in (*more, split)]
        complaints = tuple(Complaint(t, shape_errors.explain(t)) for t in texts if t is not None)
        return Side(
            (*more, split), matrix, numbers, passes(check_split, split, x, heads), complaints
        )

    note = _("The picture shows the last {n} dimensions of this layer's queries.")
    if fitting != n_heads:
        note += " " + _("On the right: {fitting} heads, the nearest number that fits.")
    note = note.format(n=min(LAST_DIMENSIONS, width), fitting=fitting)
    return Result(
        side(split_cut_off, n_heads, split_rounded_down), side(split_evenly, fitting), note=note
    )


def _tail(subject: Subject, x: Tensor, lost: int) -> Matrix:
    """The last dimensions; the last `lost` of them are in no head."""
    width = x.shape[1]
    shown = range(max(0, width - LAST_DIMENSIONS), width)
    closed = torch.tensor([i >= width - lost for i in shown]).expand(len(x), -1)
    titles = (_("token"), _("dimension"), _("query vector"))
    return Matrix(
        x[:, shown.start :].numpy(),
        subject.labels,
        tuple(map(str, shown)),
        titles,
        "signed",
        closed.numpy() if lost else None,
        _("in no head"),
    )
