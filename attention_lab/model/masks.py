"""Masks: who may attend to whom. True = may attend, everywhere in this package."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from attention_lab.errors import InputError
from attention_lab.i18n import _

MaskFunction = Callable[[int, int], np.ndarray]  # (queries, keys) -> bool array
MaskLike = str | np.ndarray | MaskFunction
Mask2D = Bool[Tensor, "query key"]


def none(n_query: int, n_key: int) -> Mask2D:
    """Every query may attend to every key."""
    return torch.ones(n_query, n_key, dtype=torch.bool)


def causal(n_query: int, n_key: int) -> Mask2D:
    """No query sees a later key ("Attention Is All You Need", section 3.2.3).

    The queries are the last `n_query` of the `n_key` positions, so that it also serves decoding
    with a cache.
    """
    return none(n_query, n_key).tril(n_key - n_query)


def window(n_query: int, n_key: int, width: int) -> Mask2D:
    """A query sees keys at most `width` away, on both sides (Longformer, section 3.1)."""
    offset = n_key - n_query
    return none(n_query, n_key).triu(offset - width).tril(offset + width)


def padding(real: Bool[Tensor, "*batch key"]) -> Bool[Tensor, "*batch 1 1 key"]:
    """Nobody attends to padding; `real` is True where a token is no padding. One for all heads."""
    return real[..., None, None, :]


def build(
    spec: MaskLike, real: Bool[Tensor, " key"], n_query: int
) -> Bool[Tensor, "head query key"]:
    """The mask that `spec` names, for `n_query` queries and the keys of `real`.

    `spec` is "none", "causal", "padding", "window:4", several of them joined by "+" (a cell is open
    where all agree), a bool array (query, key) or (head, query, key), or a function
    (n_query, n_key) -> such an array. The head axis is 1 where all heads share the mask.
    Raises `InputError` on anything else.
    """
    n_key = real.shape[0]
    if isinstance(spec, str):
        mask = none(n_query, n_key)
        for name in spec.split("+"):
            mask = mask & _named(name, real, n_query)
        return mask[None]
    return from_array(spec(n_query, n_key) if callable(spec) else spec, n_query, n_key)


def check_name(spec: str) -> None:
    """Raise `InputError` unless `spec` is a mask's name, or several joined by "+"."""
    build(spec, torch.ones(1, dtype=torch.bool), 1)


def _named(name: str, real: Bool[Tensor, " key"], n_query: int) -> Mask2D:
    n_key = real.shape[0]
    kind, colon, width = name.partition(":")
    if kind == "window" and width.isascii() and width.isdecimal() and len(width) <= 6:
        return window(n_query, n_key, int(width))
    if colon == "" and kind == "none":
        return none(n_query, n_key)
    if colon == "" and kind == "causal":
        return causal(n_query, n_key)
    if colon == "" and kind == "padding":
        return real.expand(n_query, n_key)
    message = _(
        'There is no mask "{name}"; there are none, causal, padding, window:K (K a whole number), '
        'and several of these joined by "+".'
    )
    raise InputError(message.format(name=name))


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
