"""Numbers about position tables: wavelengths, similarity, the map from one to a later one."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.model import positions

Table = Float[np.ndarray, "position d_model"]


def sinusoidal_table(n: int, d_model: int) -> Table:
    """PE of the first `n` positions, in float64 (see `positions.sinusoidal`)."""
    return positions.sinusoidal_exact(torch.arange(n), d_model).numpy()


def wavelengths(d_model: int) -> Float[np.ndarray, " pair"]:
    """After how many positions each sine and cosine pair repeats: 2π · 10000^(2i/d_model)."""
    wave: np.ndarray = 2 * np.pi * 10_000 ** (np.arange(0, d_model, 2) / d_model)
    return wave


def similarity(table: Table) -> Float[np.ndarray, "position position"]:
    """PE·PEᵀ: the product of each two positions."""
    product: np.ndarray = table @ table.T
    return product


@dataclass(frozen=True, eq=False)
class ByDistance:
    """The mean of a square matrix over each diagonal, and the spread on it."""

    mean: Float[np.ndarray, " distance"]
    smallest: Float[np.ndarray, " distance"]
    largest: Float[np.ndarray, " distance"]

    @property
    def deviation(self) -> float:
        """The most that two places of the same distance differ."""
        return float((self.largest - self.smallest).max())


def by_distance(matrix: Float[np.ndarray, "query key"]) -> ByDistance:
    """What a matrix is at distance 0, 1, 2, … before the query (its lower diagonals)."""
    diagonals = [matrix.diagonal(-distance) for distance in range(len(matrix))]
    return ByDistance(
        *(np.array([f(d) for d in diagonals]) for f in (np.mean, np.min, np.max)),
    )


def shift_map(d_model: int, k: int) -> Float[np.ndarray, "d_model d_model"]:
    """M_k with PE(pos + k) = M_k · PE(pos) for every pos, in float64.

    "Attention Is All You Need", section 3.5, says that there is one. By the addition theorems each
    pair (sin, cos) turns by the angle k · ω_i, so M_k is a rotation of 2 × 2 blocks.
    Raises `InputError` where d_model is odd: the last sine has no cosine.
    """
    if d_model % 2:
        message = _("Only an even number of dimensions makes pairs; {n} is odd.")
        raise InputError(message.format(n=d_model))
    sin, cos = sinusoidal_table(k + 1, d_model)[k].reshape(-1, 2).T
    blocks = np.stack([cos, sin, -sin, cos], axis=-1).reshape(-1, 2, 2)
    shift = np.zeros((d_model, d_model))
    for i, block in enumerate(blocks):
        shift[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block
    return shift


def shift_error(table: Table, shift: Float[np.ndarray, "d_model d_model"], k: int) -> float:
    """The largest |M_k · PE(pos) - PE(pos + k)| over all positions and dimensions of the table.

    Raises `InputError` where the table has no position k after its first.
    """
    _check_shift(table, k)
    return float(np.abs(table[: len(table) - k] @ shift.T - table[k:]).max())


@dataclass(frozen=True, eq=False)
class Fit:
    """The best linear map for a table that was learned, and how well it does on other positions."""

    shift: Float[np.ndarray, "d_model d_model"]
    seen: float  # root mean square error relative to the table's, on the positions fitted to
    unseen: float  # the same on the other positions


def fitted_shift(table: Table, k: int) -> Fit:
    """The map of least squares from PE(pos) to PE(pos + k), fitted to every other position.

    With as many dimensions as positions a fit is always good on what it has seen; only the others
    tell something. Raises `InputError` where the table has no position k after its first.
    """
    _check_shift(table, k)
    start, end = table[: len(table) - k].astype(np.float64), table[k:].astype(np.float64)
    solution, *_rest = np.linalg.lstsq(start[::2], end[::2], rcond=None)
    wrong = start @ solution - end
    size = np.sqrt(np.mean(end**2))
    errors = [float(np.sqrt(np.mean(wrong[i::2] ** 2)) / size) for i in (0, 1)]
    return Fit(solution.T, *errors)


def _check_shift(table: Table, k: int) -> None:
    if not 0 <= k < len(table) - 1:
        message = _(
            "A shift by {k} needs at least {least} positions, and there are {n}: take more."
        )
        raise InputError(message.format(k=k, least=k + 2, n=len(table)))
