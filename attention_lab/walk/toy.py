"""A toy attention: a few words, tiny matrices, untrained, small enough to recompute by hand."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.model import masks
from attention_lab.walk.inputs import Inputs

D_MODEL, D_HEAD = 4, 3
MOST_WORDS = 5


@dataclass(frozen=True, eq=False)
class Toy:
    """The matrices as the paper writes them: q = x W_Q, so W is d_model × (heads · d_head)."""

    x: np.ndarray  # word, d_model
    w_q: np.ndarray
    w_k: np.ndarray
    w_v: np.ndarray
    w_o: np.ndarray  # heads · d_head, d_model


def words_of(text: str) -> list[str]:
    """The words of the toy sentence. Raises `InputError` unless there are two to five."""
    words = text.split()
    if not 2 <= len(words) <= MOST_WORDS:
        message = _("The toy takes 2 to {most} words, and there are {n}; separate them by spaces.")
        raise InputError(message.format(most=MOST_WORDS, n=len(words)))
    return words


def random_toy(n_words: int, n_heads: int, seed: int) -> Toy:
    """Numbers with one decimal, drawn with a seed: untrained, and easy to calculate with."""
    draw = np.random.default_rng(seed)
    width = n_heads * D_HEAD
    shapes = [(n_words, D_MODEL), *[(D_MODEL, width)] * 3, (width, D_MODEL)]
    return Toy(*(np.round(draw.normal(size=shape), 1) for shape in shapes))


def toy_inputs(toy: Toy, n_heads: int, is_causal: bool) -> Inputs:
    """The toy as a site's inputs, without biases, norms or positions.

    Raises `InputError` if a cell is empty or no number, or a matrix has the wrong shape.
    """
    n, width = len(toy.x), n_heads * D_HEAD
    shapes = {"x": (n, D_MODEL), "w_o": (width, D_MODEL)}
    for name in ("x", "w_q", "w_k", "w_v", "w_o"):
        array = getattr(toy, name)
        wanted = shapes.get(name, (D_MODEL, width))
        if array.shape != wanted or not np.isfinite(array.astype(float)).all():
            message = _("{name} needs a number in each of its {rows} × {columns} cells.")
            raise InputError(message.format(name=name, rows=wanted[0], columns=wanted[1]))
    x = _tensor(toy.x)
    return Inputs(
        x=x,
        context=x,
        w_q=_tensor(toy.w_q).T,
        b_q=_zeros(width),
        w_k=_tensor(toy.w_k).T,
        b_k=_zeros(width),
        w_v=_tensor(toy.w_v).T,
        b_v=_zeros(width),
        w_o=_tensor(toy.w_o).T,
        b_o=_zeros(D_MODEL),
        mask=(masks.causal if is_causal else masks.none)(n, n)[None],
        bias=_zeros(1, 1, 1),
        n_heads=n_heads,
        n_kv_heads=n_heads,
    )


def _tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(array.astype(np.float64))


def _zeros(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.float64)
