"""How to read PyTorch's complaint that a shape does not fit."""

import math
import re

from attention_lab.i18n import _

_INVALID = re.compile(r"shape '\[([\d, ]+)\]' is invalid for input of size (\d+)")


def explain(text: str) -> str:
    """The numbers of "shape '[32, 8, 128]' is invalid for input of size 131072" in words.

    Empty for any other text.
    """
    found = _INVALID.search(text)
    if found is None:
        return ""
    shape, size = [int(n) for n in found[1].split(",")], int(found[2])
    wanted = math.prod(shape)
    product = " × ".join(map(str, shape))
    first = _("The shape asks for {product} = {wanted:,} numbers, and the tensor has {size:,}.")
    first = first.format(product=product, wanted=wanted, size=size)
    return f"{first} {_difference(wanted, size)}"


def _difference(wanted: int, size: int) -> str:
    if wanted and size > wanted and size % wanted == 0:
        text = _("That is {n} times as many: an axis of {n} was forgotten, often the heads.")
        return text.format(n=size // wanted)
    if size and wanted > size and wanted % size == 0:
        text = _(
            "That is {n} times too few: one axis stands in the shape twice or is {n} too long."
        )
        return text.format(n=wanted // size)
    text = _("{n:,} are left over: one of the numbers is a quotient that was rounded.")
    return text.format(n=abs(size - wanted))
