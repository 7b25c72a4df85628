"""A bug of number formats: the positions' encoding by powers in half precision."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_lab.clinic.exhibit import (
    Exhibit,
    Function,
    Matrix,
    Result,
    Setting,
    Side,
    Table,
    passes,
    written,
)
from attention_lab.clinic.subject import Subject
from attention_lab.i18n import _

BASES = (10_000, 100_000, 500_000)  # the paper's, SmolLM2's and Llama 3's
FAR = (0, 500, 2000)  # first positions of the table


def waves(angle: Tensor) -> Tensor:
    """Sines and cosines in turn."""
    both = torch.stack([angle.sin(), angle.cos()], -1)
    return both.flatten(1)


def powers_in_half(places: Tensor, d: int, base: int) -> Tensor:
    """base^(2i/d), all in half precision."""
    exponent = torch.arange(0, d, 2).half() / d
    power = base**exponent
    return waves(places.half()[:, None] / power)


def logs_in_half(places: Tensor, d: int, base: int) -> Tensor:
    """No overflow, but no finer either."""
    exponent = torch.arange(0, d, 2).half() / d
    turn = torch.exp(-exponent * math.log(base))
    return waves(places.half()[:, None] * turn)


def logs_in_single(places: Tensor, d: int, base: int) -> Tensor:
    """Single precision, half at the end."""
    exponent = torch.arange(0, d, 2).float() / d
    turn = torch.exp(-exponent * math.log(base))
    table = waves(places.float()[:, None] * turn)
    return table.half()


def check_encoding(encode: Function, base: int) -> None:
    """As exact as half precision can be."""
    exponent = torch.arange(0, 64, 2).double() / 64
    places = torch.arange(512)
    exact = waves(places[:, None] / base**exponent)
    off = encode(places, 64, base) - exact
    assert off.abs().max() < 1e-3


def exhibits() -> tuple[Exhibit, ...]:
    """The exhibit."""
    return (
        Exhibit(
            "half",
            _("Positions by powers in half precision"),
            _(
                "Half precision has about three digits and ends at 65,504. A larger base overflows "
                "to infinity, and then nearly all dimensions say the same at every position. With "
                "the paper's 10,000 nothing overflows, and yet far positions come out wrong."
            ),
            check_encoding,
            _("Compute angles in log space and in single precision; go to half at the very end."),
            _half,
            _bases,
        ),
    )


def exact(places: Tensor, d: int, base: int) -> Float[Tensor, "position d"]:
    """The encoding in double precision."""
    even = torch.arange(0, d, 2, dtype=torch.float64)
    return waves(places[:, None].double() / base ** (even / d))


def error(encode: Function, places: Tensor, d: int, base: int) -> Float[Tensor, "position d"]:
    """How far an encoding is from the exact one."""
    encoded: Tensor = encode(places, d, base)
    return encoded.double() - exact(places, d, base)


def _bases(subject: Subject) -> Setting:
    own = int(subject.config.rotary_base) if subject.trace.position == "rotary" else BASES[0]
    label = _("Base of the powers")
    return Setting("base", label, tuple(sorted({*BASES, own})), own)


def _width(subject: Subject) -> int:
    """How many dimensions carry positions; a pair has one frequency."""
    config = subject.config
    return config.d_head if subject.trace.position == "rotary" else config.d_model // 2 * 2


def _half(subject: Subject, base: int) -> Result:
    places, d = torch.arange(subject.n), _width(subject)

    def side(encode: Function) -> Side:
        off = error(encode, places, d, base)
        deaf = int((encode(torch.arange(1, 65), d, base).float().std(dim=0) == 0).sum())
        numbers = (
            (_("Largest error on your sentence"), written(off.abs().max())),
            (
                _("Dimensions that are the same at 64 positions"),
                _("{n} of {d}").format(n=deaf, d=d),
            ),
        )
        titles = (_("token at position 0, 1, …"), _("dimension"), _("error"))
        columns = tuple(map(str, range(d)))
        matrix = Matrix(off.float().numpy(), subject.labels, columns, titles, "signed")
        return Side((encode,), matrix, numbers, passes(check_encoding, encode, base))

    rows = tuple(
        (name, *(written(error(encode, places + far, d, base).abs().max()) for far in FAR))
        for name, encode in (
            (_("powers in half precision"), powers_in_half),
            (_("log space in half precision"), logs_in_half),
            (_("log space in single precision"), logs_in_single),
        )
    )
    headings = (
        _("largest error"),
        *(_("from position {n}").format(n=f"{far:,}") for far in FAR),
    )
    note = _(
        "The picture shows the error against double precision. Overflow to infinity: {n} of {d} "
        "powers on the left."
    )
    powers = base ** (torch.arange(0, d, 2).half() / d)
    note = note.format(n=int(powers.isinf().sum()), d=d // 2)
    table = Table(headings, rows)
    return Result(side(powers_in_half), side(logs_in_single), table=table, note=note)
