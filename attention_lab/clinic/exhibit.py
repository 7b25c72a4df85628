"""What an exhibit is: a broken way and the right way, run on the same numbers, and a check."""

import ast
import inspect
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from attention_lab.clinic.subject import Subject
from attention_lab.i18n import _

_parsing = threading.Lock()  # Python 3.11's ast.parse fails when two threads are in it at once

Function = Callable[..., Any]
Numbers = tuple[tuple[str, str], ...]  # what was measured, and its value as it is shown
# share: 0 to 1; signed: around zero; size: from 0 to the largest
Scale = Literal["share", "signed", "size"]


@dataclass(frozen=True, eq=False)
class Matrix:
    """A picture's numbers with the names of its axes. NaN and infinities belong to it."""

    values: Float[np.ndarray, "row column"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    titles: tuple[str, str, str]  # of a row, a column and a value
    scale: Scale = "share"
    closed: Bool[np.ndarray, "row column"] | None = None  # cells that have no number at all
    closed_title: str = ""

    @property
    def open(self) -> Bool[np.ndarray, "row column"]:
        """Cells that have a number, finite or not."""
        return np.ones(self.values.shape, dtype=bool) if self.closed is None else ~self.closed

    @property
    def largest(self) -> float:
        """The largest absolute value among the finite ones."""
        shown = self.values[np.isfinite(self.values) & self.open]
        return float(np.abs(shown).max(initial=0.0))

    @property
    def n_nan(self) -> int:
        """Cells that are not a number."""
        return int((np.isnan(self.values) & self.open).sum())

    @property
    def n_infinite(self) -> int:
        """Cells that are infinite, of either sign."""
        return int((np.isinf(self.values) & self.open).sum())


@dataclass(frozen=True)
class Complaint:
    """What PyTorch said, word for word, and how to read it."""

    text: str
    meaning: str


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two ways: its code, its picture, its numbers, and whether the check accepts it."""

    functions: tuple[Function, ...]
    matrix: Matrix
    numbers: Numbers
    passes: bool
    complaints: tuple[Complaint, ...] = ()

    @property
    def code(self) -> str:
        """The functions as they stand in the project."""
        return source(*self.functions)


@dataclass(frozen=True)
class Curves:
    """A number of both ways against the exhibit's setting."""

    title: str
    x_title: str
    x: tuple[int, ...]
    wrong: tuple[float, ...]
    right: tuple[float, ...]
    logarithmic: bool = False


@dataclass(frozen=True)
class Table:
    """More numbers, where two columns are not enough."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Result:
    """What an exhibit shows of one sentence."""

    wrong: Side
    right: Side
    curves: tuple[Curves, ...] = ()
    table: Table | None = None
    note: str = ""


@dataclass(frozen=True)
class Setting:
    """A number that the user may turn; `key` is its name in the link."""

    key: str
    label: str
    options: tuple[int, ...]
    default: int


@dataclass(frozen=True)
class Exhibit:
    """A classic bug. `run` takes the subject and the setting's value (0 where there is none)."""

    key: str
    title: str
    story: str
    check: Function
    cure: str
    run: Callable[[Subject, int], Result]
    setting: Callable[[Subject], Setting] | None = None


def source(*functions: Function) -> str:
    """The source of some functions, in order; without types and docstrings, to save room."""
    return "\n\n".join(map(_lines, functions))


@lru_cache(maxsize=256)
def _lines(function: Function) -> str:
    text = inspect.getsource(function).rstrip()
    with _parsing:
        node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    names = ", ".join(argument.arg for argument in node.args.args)
    first = node.body[ast.get_docstring(node) is not None]
    body = text.splitlines()[first.lineno - 1 :]
    return "\n".join([f"def {node.name}({names}):", *body])


def passes(check: Function, *arguments: Any) -> bool:
    """Whether a check accepts what it is given."""
    try:
        check(*arguments)
    except AssertionError:
        return False
    return True


def said(function: Function, *arguments: Any) -> str | None:
    """The true text of the error that a call raises; None if it runs."""
    try:
        function(*arguments)
    except (RuntimeError, ValueError) as error:
        return str(error)
    return None


def pairs(labels: Sequence[str], weights: Tensor, closed: Tensor | None = None) -> Matrix:
    """Attention weights as a picture; `closed` marks cells that this code has masked."""
    titles = (_("query (looks)"), _("key (is looked at)"), _("weight"))
    return Matrix(
        weights.detach().float().numpy(),
        tuple(labels),
        tuple(labels),
        titles,
        closed=None if closed is None else closed.numpy(),
        closed_title=_("masked"),
    )


def written(value: float | Tensor) -> str:
    """A number as the page shows it: three digits after the point, or powers of ten."""
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    sign, size = "−" if value < 0 else "", abs(value)
    if not 1e-3 <= size < 1e5:
        return f"{sign}{size:.1e}"
    return f"{sign}{size:.3f}" if size < 100 else f"{sign}{size:,.1f}"


def spread(values: Tensor) -> str:
    """The smallest and the largest of some numbers; NaN if there is one."""
    low, high = written(values.min()), written(values.max())
    return low if low == high else _("{low} to {high}").format(low=low, high=high)
