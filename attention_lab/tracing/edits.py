"""Interventions: what one run changes at the model's named points, never in the model itself."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from attention_lab.config import ModelConfig, Position
from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.model.masks import MaskLike

# (tensor at the point, with a batch axis; what the run has captured so far, without) -> new tensor
Change = Callable[[Tensor, Mapping[str, Tensor]], Tensor]
Substitute = Literal["zero", "mean"]
FURTHEST = 1_000_000  # the last position at which a text may start


@dataclass(frozen=True)
class Ablation:
    """Switch heads off. See `ablate`."""

    site: str
    heads: tuple[int, ...] | None
    to: Substitute


@dataclass(frozen=True, eq=False)
class MaskEdit:
    """Another mask at some sites. See `mask`."""

    site: str
    mask: MaskLike


@dataclass(frozen=True)
class PositionEdit:
    """Other positions than the model was trained with. See `position`."""

    kind: Position | None
    start: int = 0


Edit = Ablation | MaskEdit | PositionEdit


def ablate(site: str, head: int | Sequence[int] | None = None, to: Substitute = "zero") -> Ablation:
    """Switch off one head, several, or (None) all heads of a site; the site may be a glob pattern.

    "zero": the head adds nothing; its z is 0. "mean": the head attends evenly to all keys that its
    mask leaves open, so that it still adds the mean value but chooses nothing, and a causal head
    sees no future. Raises `InputError` for an unknown `to`.
    """
    if to not in get_args(Substitute):
        raise InputError(_('An ablation puts "zero" or "mean", not {to!r}.').format(to=to))
    if head is None:
        return Ablation(site, None, to)
    heads = head if isinstance(head, Iterable) else (head,)
    # numpy's whole numbers, from an argmax say, become Python's; trace() checks the others
    return Ablation(site, tuple(int(h) if isinstance(h, np.integer) else h for h in heads), to)


def mask(site: str, mask: MaskLike) -> MaskEdit:
    """Another mask at the sites that match, e.g. `mask("encoder.*.self", "window:2")`."""
    return MaskEdit(site, mask)


def position(kind: Position | None = None, start: int = 0) -> PositionEdit:
    """Run with other positions: "none", "sinusoidal", "learned", "rotary" or "alibi".

    None keeps the model's own kind. The first token stands at position `start`: the text as if it
    stood further along. Raises `InputError` for any other kind, or start.
    """
    if kind is not None and kind not in get_args(Position):
        message = _("There are no {kind!r} positions; there are {all}.")
        raise InputError(message.format(kind=kind, all=", ".join(get_args(Position))))
    if not isinstance(start, int) or isinstance(start, bool) or not 0 <= start <= FURTHEST:
        message = _("A text cannot start at position {start!r}; whole numbers 0 to {last} can be.")
        raise InputError(message.format(start=start, last=FURTHEST))
    return PositionEdit(kind, start)


def matching_sites(config: ModelConfig, pattern: str) -> tuple[str, ...]:
    """The model's sites that a name or glob pattern means. Raises `InputError` if there is none."""
    found = tuple(site for site in config.sites if fnmatchcase(site, pattern))
    if not found:
        message = _('No attention site matches "{pattern}"; this model has {sites}.')
        raise InputError(message.format(pattern=pattern, sites=", ".join(config.sites)))
    return found


def check_head(n_heads: int, head: object) -> None:
    """Raise `InputError` unless `head` is the number of a head; True and False are none."""
    if not isinstance(head, int) or isinstance(head, bool) or not 0 <= head < n_heads:
        message = _("There is no head {head!r}; this model has heads 0 to {last}.")
        raise InputError(message.format(head=head, last=n_heads - 1))


def check_mask_heads(n: int, n_heads: int) -> None:
    """Raise `InputError` unless a mask is one for all heads, or one for each."""
    if n not in (1, n_heads):
        message = _("The mask has {n} heads; needed is one for all, or one each for {heads}.")
        raise InputError(message.format(n=n, heads=n_heads))


def check_edits(edits: object) -> None:
    """Raise `InputError` unless this is a sequence of edits."""
    if not isinstance(edits, Sequence) or not all(isinstance(edit, Edit) for edit in edits):
        message = _(
            "The edits are {edits!r}; allowed: a list of what lab.ablate, lab.mask and "
            "lab.position return."
        )
        raise InputError(message.format(edits=edits))


def changes(config: ModelConfig, ablations: Sequence[Ablation]) -> dict[str, Change]:
    """What the ablations do at which point. Raises `InputError` where the model lacks the place."""
    heads: dict[tuple[str, Substitute], set[int]] = {}
    for edit in ablations:
        wanted = range(config.n_heads) if edit.heads is None else edit.heads
        for head in wanted:
            check_head(config.n_heads, head)
        for site in matching_sites(config, edit.site):
            heads.setdefault((site, edit.to), set()).update(wanted)
    return {
        (f"{site}.z" if to == "zero" else f"{site}.weights"): (
            _zero(sorted(numbers)) if to == "zero" else _even(site, sorted(numbers))
        )
        for (site, to), numbers in heads.items()
    }


def _zero(heads: list[int]) -> Change:
    def change(z: Tensor, captured: Mapping[str, Tensor]) -> Tensor:
        z = z.clone()
        z[:, heads] = 0
        return z

    return change


def _even(site: str, heads: list[int]) -> Change:
    def change(weights: Tensor, captured: Mapping[str, Tensor]) -> Tensor:
        mask = captured[f"{site}.mask"].expand(weights.shape[1:])[heads]
        open_keys = mask.sum(dim=-1, keepdim=True)
        weights = weights.clone()
        weights[:, heads] = torch.where(mask, 1 / open_keys, 0.0)
        return weights

    return change
