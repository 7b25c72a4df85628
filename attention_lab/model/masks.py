"""Masks: who may attend to whom. True = may attend, everywhere in this package.

In all of them the queries are the last `n_query` of the `n_key` positions, so that they also serve
decoding with a cache.
"""

import re
from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_, or_, xor

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_lab.errors import InputError
from attention_lab.i18n import _

MaskFunction = Callable[[int, int], np.ndarray]  # (queries, keys) -> bool array
MaskLike = str | np.ndarray | MaskFunction
Mask2D = Bool[Tensor, "query key"]

MOST_CHARACTERS = 4_000  # of a mask's name


def none(n_query: int, n_key: int) -> Mask2D:
    """Every query may attend to every key, as in an encoder (BERT, section 3)."""
    return torch.ones(n_query, n_key, dtype=torch.bool)


def causal(n_query: int, n_key: int) -> Mask2D:
    """No query sees a later key ("Attention Is All You Need", section 3.2.3)."""
    return none(n_query, n_key).tril(n_key - n_query)


def padding(real: Bool[Tensor, "*batch key"]) -> Bool[Tensor, "*batch 1 1 key"]:
    """Nobody attends to padding; `real` is True where a token is no padding. One for all heads."""
    return real[..., None, None, :]


def window(n_query: int, n_key: int, width: int) -> Mask2D:
    """A query sees keys at most `width` away, on both sides (Longformer, section 3.1)."""
    offset = n_key - n_query
    return none(n_query, n_key).triu(offset - width).tril(offset + width)


def dilated(n_query: int, n_key: int, width: int, apart: int) -> Mask2D:
    """A query sees itself and `width` keys on each side, `apart` apart (Longformer, section 3.1).

    The paper's dilation d is `apart`: there are gaps of d - 1 between the keys that are seen.
    """
    query, key = _positions(n_query, n_key)
    distance = (query - key).abs()
    return (distance % apart == 0) & (distance <= width * apart)


def prefix(n_query: int, n_key: int, length: int) -> Mask2D:
    """The first `length` keys are seen by all, the others causally (T5, section 3.2.1)."""
    query, key = _positions(n_query, n_key)
    return (key < length) | (key <= query)


def blocks(n_query: int, n_key: int, lengths: Sequence[int]) -> Mask2D:
    """Sentences of `lengths`, packed into one text, each of which sees itself alone.

    What is left over is one more block. Krell et al. 2021, "Efficient Sequence Packing without
    Cross-contamination".
    """
    ends = torch.tensor(lengths).cumsum(dim=0)
    query, key = (torch.bucketize(place, ends, right=True) for place in _positions(n_query, n_key))
    return query == key


def global_tokens(n_query: int, n_key: int, places: Sequence[int]) -> Mask2D:
    """Some tokens see everything and are seen by all; nothing else is open (Longformer, 3.1).

    Places that the text does not have are left out.
    """
    query, key = _positions(n_query, n_key)
    wanted = torch.tensor(places)
    return torch.isin(query, wanted) | torch.isin(key, wanted)


def cells(n_query: int, n_key: int, places: Sequence[tuple[int, int]]) -> Mask2D:
    """Only these cells are open, by row and column of the mask; others are left out."""
    mask = torch.zeros(n_query, n_key, dtype=torch.bool)
    for row, column in places:
        if row < n_query and column < n_key:
            mask[row, column] = True
    return mask


def _positions(n_query: int, n_key: int) -> tuple[Int[Tensor, "query 1"], Int[Tensor, "1 key"]]:
    return torch.arange(n_key - n_query, n_key)[:, None], torch.arange(n_key)[None]


_N, _FROM_1 = "[0-9]{1,6}", "[1-9][0-9]{0,5}"
_FORMS: dict[str, Callable[[int, int, list[int]], Tensor]] = {
    "none": lambda q, k, numbers: none(q, k),
    "causal": lambda q, k, numbers: causal(q, k),
    f"window:{_N}": lambda q, k, numbers: window(q, k, *numbers),
    f"dilated:{_N}:{_FROM_1}": lambda q, k, numbers: dilated(q, k, *numbers),
    f"prefix:{_N}": lambda q, k, numbers: prefix(q, k, *numbers),
    f"blocks:{_FROM_1}(?:,{_FROM_1})*": blocks,
    f"global:{_N}(?:,{_N})*": global_tokens,
    rf"cells:{_N}\.{_N}(?:,{_N}\.{_N})*": lambda q, k, numbers: cells(
        q, k, list(zip(numbers[::2], numbers[1::2], strict=True))
    ),
}


def build(
    spec: MaskLike, real: Bool[Tensor, " key"], n_query: int
) -> Bool[Tensor, "head query key"]:
    """The mask that `spec` names, for `n_query` queries and the keys of `real`.

    `spec` is a name: "none", "causal", "padding", "window:4", "dilated:2:3", "prefix:5",
    "blocks:3,5", "global:0,7" or "cells:2.5,3.1". Names are joined, from the tightest, by "+"
    (open where all agree), "|" (open where one of them is) and "^" (open where just one of the two
    is, so "^cells:…" turns cells over): "window:4|global:0" is Longformer's mask.
    Or it is a bool array (query, key) or (head, query, key), or a function
    (n_query, n_key) -> such an array. The head axis is 1 where all heads share the mask.
    Raises `InputError` on anything else; what the function raises comes through as it is.
    """
    n_key = real.shape[0]
    if isinstance(spec, str):
        if len(spec) > MOST_CHARACTERS:
            raise _unknown(spec)
        flips = ([part.split("+") for part in flip.split("|")] for flip in spec.split("^"))
        return reduce(xor, (_either(parts, real, n_query) for parts in flips))[None]
    return from_array(spec(n_query, n_key) if callable(spec) else spec, n_query, n_key)


def check_name(spec: str) -> None:
    """Raise `InputError` unless `spec` is a mask's name, or several joined."""
    build(spec, torch.ones(1, dtype=torch.bool), 1)


def _either(parts: list[list[str]], real: Bool[Tensor, " key"], n_query: int) -> Mask2D:
    """Open where one of the parts is; a part is open where all its names are."""
    return reduce(or_, (reduce(and_, (_named(n, real, n_query) for n in names)) for names in parts))


def _named(name: str, real: Bool[Tensor, " key"], n_query: int) -> Mask2D:
    if name == "padding":
        return real.expand(n_query, -1)
    for form, make in _FORMS.items():
        if re.fullmatch(form, name):
            return make(n_query, real.shape[0], [int(n) for n in re.findall("[0-9]+", name)])
    raise _unknown(name)


def _unknown(name: str) -> InputError:
    message = _(
        'There is no mask "{name}"; there are none, causal, padding, window:K, dilated:W:D, '
        "prefix:N, blocks:A,B,…, global:A,B,… and cells:Q.K,… (whole numbers), joined by "
        '"+" (open where all are), "|" (where one is) or "^" (where just one of two is).'
    )
    shown = re.sub(r"\s", " ", name if len(name) <= 80 else name[:80] + "…")
    return InputError(message.format(name=shown))


def from_array(array: object, n_query: int, n_key: int) -> Bool[Tensor, "head query key"]:
    """A user's bool array as a mask. Raises `InputError` unless its type and shape are right."""
    if not isinstance(array, np.ndarray) or array.dtype != np.bool_:
        kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        message = _(
            "A mask must be a bool array (True = may attend), and this is of type {kind}; "
            "convert it with .astype(bool) if its values mean that."
        )
        raise InputError(message.format(kind=kind))
    if array.ndim not in (2, 3) or array.shape[-2:] != (n_query, n_key):
        message = _(
            "The mask has shape {shape}; needed is ({q}, {k}), or (heads, {q}, {k}): query, key."
        )
        raise InputError(message.format(shape=array.shape, q=n_query, k=n_key))
    return torch.from_numpy(array.copy()).reshape(-1, n_query, n_key)
