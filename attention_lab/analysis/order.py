"""Order matters, or not: one text and a reordering of it, compared token by token."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.tokens import Token, Tokens
from attention_lab.tracing.trace import Trace

CJK = "\u2e80"  # the first character of the scripts without spaces
ZWJ = "\u200d"  # joins several emoji to one
Order = tuple[int, ...]  # at place i of the reordering stands what was at order[i]


def check_order(order: Sequence[int], n: int) -> Order:
    """`order` as a tuple. Raises `InputError` unless it names each of 0 … n - 1 exactly once."""
    whole = all(isinstance(place, int) and not isinstance(place, bool) for place in order)
    if not whole or sorted(order) != list(range(n)):
        message = _(
            "A reordering of {n} words names each place from 0 to {last} exactly once, and this "
            "one does not: put every word somewhere, and none twice."
        )
        raise InputError(message.format(n=n, last=n - 1))
    return tuple(order)


def words(tokens: Tokens) -> list[list[int]]:
    """The places of the user's tokens, those of a word together; special tokens are in none.

    Where a script has no spaces, as Chinese, each token is a word of its own.
    """
    found: list[list[int]] = []
    last: Token | None = None
    for place, token in enumerate(tokens):
        if token.special:
            last = None
        elif last is not None and _is_one_word(tokens.text, last, token):
            found[-1].append(place)
            last = token
        else:
            found.append([place])
            last = token
    return found


def _is_one_word(text: str, last: Token, token: Token) -> bool:
    if token.part > 1:  # a further byte of the same character
        return True
    before, after = text[last.end - 1 : last.end], text[token.start : token.start + 1]
    if last.end != token.start or not (before and after):
        return False
    if ZWJ in (before, after):
        return True
    return all((c.isalnum() or c in "'’") and c < CJK for c in (before, after))


def moved_places(tokens: Tokens, order: Sequence[int]) -> tuple[int, ...]:
    """The places of all tokens after a reordering of the words; special tokens keep theirs.

    Raises `InputError` for an order that is none of these words.
    """
    units = words(tokens)
    moved = iter([place for unit in check_order(order, len(units)) for place in units[unit]])
    return tuple(place if token.special else next(moved) for place, token in enumerate(tokens))


def order_between(tokens: Tokens, other: Tokens) -> Order | None:
    """The order that makes one text of the other; None where they have not the same words."""
    ours, theirs = (
        ["".join(text[place].label for place in unit).casefold() for unit in words(text)]
        for text in (tokens, other)
    )
    free = list(range(len(ours)))
    order: list[int] = []
    for word in theirs:
        at = next((i for i in free if ours[i] == word), None)
        if at is None:
            return None
        free.remove(at)
        order.append(at)
    return tuple(order) if not free else None


@dataclass(frozen=True, eq=False)
class Comparison:
    """How far a reordered run lies from the text's own run, put into the same order."""

    outputs: Float[np.ndarray, " position"]  # per place of the reordering: largest difference
    weights: Float[np.ndarray, "head query key"]  # the reordering's minus the text's, moved along

    @property
    def largest(self) -> float:
        """The largest difference of any output number."""
        return float(self.outputs.max())


def output(trace: Trace, stack: str) -> Float[np.ndarray, "position d_model"]:
    """What a stack hands on for each token."""
    if stack == "encoder" and trace.encoded is not None:
        return trace.encoded
    return trace.hidden


def compare(text: Trace, reordered: Trace, order: Order, site: str) -> Comparison:
    """The reordered run against the text's, whose rows and columns are moved along.

    If the model does not know order, nothing differs but rounding.
    """
    moved = list(order)
    stack = site.split(".")[0]
    outputs = np.abs(output(reordered, stack) - output(text, stack)[moved]).max(axis=-1)
    before = text[site].weights[:, moved][:, :, moved]
    return Comparison(outputs, reordered[site].weights - before)
