"""A panel: the one matrix that a picture, a table and a file show, with the names of its axes."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.tokens import Token
from attention_lab.tracing.edits import check_head
from attention_lab.tracing.site import PAIR_STAGES, Site, Stage
from attention_lab.tracing.trace import Trace

Combine = Literal["none", "mean_heads", "max_heads", "mean_layers", "max_layers"]
COMBINES: tuple[Combine, ...] = get_args(Combine)
SIGNED: tuple[Stage, ...] = ("q", "k", "v", "scores", "masked_scores", "z", "result")


@dataclass(frozen=True, eq=False)
class Panel:
    """Rows are queries (or positions), columns are keys (or dimensions).

    `values` is NaN where the mask is closed; `blocked` says so too, and is None for stages without
    a mask. `is_difference` marks an after minus before.
    """

    stage: Stage
    values: Float[np.ndarray, "row column"]
    blocked: Bool[np.ndarray, "row column"] | None
    rows: tuple[Token, ...]
    columns: tuple[Token, ...] | None  # None: the columns are dimensions
    is_difference: bool = False

    @property
    def signed(self) -> bool:
        """Whether the values lie on both sides of zero."""
        return self.is_difference or self.stage in SIGNED

    @property
    def bound(self) -> float:
        """The largest absolute value, for a scale symmetric around zero."""
        finite = self.values[np.isfinite(self.values)]
        return float(np.abs(finite).max(initial=0.0)) or 1.0

    def first(self, n_rows: int, n_columns: int | None = None) -> "Panel":
        """The first rows, and columns if a number is given."""
        part = np.s_[:n_rows, :n_columns]
        return replace(
            self,
            values=self.values[part],
            blocked=None if self.blocked is None else self.blocked[part],
            rows=self.rows[:n_rows],
            columns=None if self.columns is None else self.columns[:n_columns],
        )


def panel(
    trace: Trace,
    site: str,
    head: int = 0,
    stage: Stage = "weights",
    combine: Combine = "none",
    hide_special: bool = False,
) -> Panel:
    """One stage of one head, or (weights only) its mean or maximum over heads or over layers.

    `hide_special` leaves special tokens out of the picture; it changes no value. Raises
    `InputError` for a site, head, stage or combination that there is not.
    """
    found = trace[site]
    check_head(found.n_heads, head)
    if combine not in COMBINES or (combine != "none" and stage != "weights"):
        message = _("Only weights are combined, by {all}; asked for was {combine} of {stage}.")
        raise InputError(message.format(all=", ".join(COMBINES), combine=combine, stage=stage))
    array = found.stage(stage)
    if combine == "none":
        values = array[head if len(array) > 1 else 0].astype(np.float32)
        blocked = _closed(found, head) if stage in ("masked_scores", "weights") else None
    else:
        stack = _stack(trace, site, head, combine)
        values = stack.mean(axis=0) if combine.startswith("mean") else stack.max(axis=0)
        blocked = _closed_everywhere(trace, site, head, combine)
    if blocked is not None:
        values = np.where(blocked, np.float32(np.nan), values)
    columns = tuple(found.key_tokens) if stage in PAIR_STAGES else None
    rows = tuple(found.key_tokens if stage in ("k", "v") else found.query_tokens)
    result = Panel(stage, values, blocked, rows, columns)
    return _without_special(result) if hide_special else result


def difference(after: Panel, before: Panel) -> Panel:
    """`after` - `before`, of the same stage and tokens; a closed cell counts as 0.

    Raises `InputError` where the two do not show the same thing.
    """
    if after.values.shape != before.values.shape or after.stage != before.stage:
        raise InputError(_("Only panels of the same stage and the same tokens have a difference."))
    values = np.nan_to_num(after.values) - np.nan_to_num(before.values)
    blocked = None
    if after.blocked is not None and before.blocked is not None:
        blocked = after.blocked & before.blocked
        values = np.where(blocked, np.float32(np.nan), values)
    return replace(after, values=values, blocked=blocked, is_difference=True)


def _closed(site: Site, head: int) -> np.ndarray:
    mask = site.mask
    closed: np.ndarray = ~mask[head if len(mask) > 1 else 0]
    return closed


def _neighbours(trace: Trace, site: str) -> list[str]:
    """The sites of the same stack and part in all layers."""
    stack, _layer, part = site.split(".")
    return [s for s in trace.sites if s.startswith(f"{stack}.") and s.endswith(f".{part}")]


def _stack(trace: Trace, site: str, head: int, combine: Combine) -> np.ndarray:
    if combine.endswith("heads"):
        return trace[site].weights
    return np.stack([trace[s].weights[head] for s in _neighbours(trace, site)])


def _closed_everywhere(trace: Trace, site: str, head: int, combine: Combine) -> np.ndarray:
    if combine.endswith("heads"):
        each: np.ndarray = ~trace[site].mask
    else:
        each = np.stack([_closed(trace[s], head) for s in _neighbours(trace, site)])
    closed: np.ndarray = np.all(each, axis=0)
    return closed


def _without_special(shown: Panel) -> Panel:
    keep_rows = [i for i, token in enumerate(shown.rows) if not token.special]
    values, blocked, columns = shown.values[keep_rows], shown.blocked, shown.columns
    blocked = None if blocked is None else blocked[keep_rows]
    if columns is not None:
        keep = [i for i, token in enumerate(columns) if not token.special]
        values, columns = values[:, keep], tuple(columns[i] for i in keep)
        blocked = None if blocked is None else blocked[:, keep]
    rows = tuple(shown.rows[i] for i in keep_rows)
    return replace(shown, values=values, blocked=blocked, rows=rows, columns=columns)
