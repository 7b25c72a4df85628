"""Positions by powers in half precision, against NumPy in double precision: both sides."""

import numpy as np
import pytest
import torch

from attention_lab.clinic import positions
from attention_lab.clinic.exhibit import Function, passes
from attention_lab.clinic.subject import Subject
from attention_lab.model.positions import sinusoidal

(HALF,) = positions.exhibits()


def reference(places: np.ndarray, d: int, base: int) -> np.ndarray:
    """PE(pos, 2i) = sin(pos / base^(2i/d)), PE(pos, 2i+1) = cos of the same, one by one."""
    table = np.empty((len(places), d))
    for row, place in enumerate(places):
        for i in range(d // 2):
            angle = float(place) / float(base) ** (2 * i / d)
            table[row, 2 * i], table[row, 2 * i + 1] = np.sin(angle), np.cos(angle)
    return table


def off(encode: Function, first: int, base: int) -> float:
    places = torch.arange(first, first + 16)
    return float(
        np.abs(encode(places, 64, base).numpy() - reference(places.numpy(), 64, base)).max()
    )


@pytest.mark.parametrize("base", positions.BASES)
def test_the_exact_encoding_is_exact(base: int) -> None:
    assert off(positions.exact, 2000, base) < 1e-12


def test_the_exact_encoding_is_the_models() -> None:
    places = torch.arange(40)
    expected = sinusoidal(places, 32)
    torch.testing.assert_close(positions.exact(places, 32, 10_000).float(), expected)


@pytest.mark.parametrize("base", positions.BASES)
@pytest.mark.parametrize("first", [0, 500, 2000])
def test_log_space_in_single_precision_is_right_everywhere(base: int, first: int) -> None:
    assert off(positions.logs_in_single, first, base) < 1e-3


def test_a_large_base_overflows_in_half() -> None:
    encoded = positions.powers_in_half(torch.arange(64), 64, 100_000)
    assert (encoded[:, 2::2] == 0).all()  # position / ∞ = 0 at every position
    assert (encoded[:, 3::2] == 1).all()
    assert off(positions.powers_in_half, 0, 100_000) > 0.9


def test_the_papers_base_does_not_overflow_but_far_positions_are_wrong() -> None:
    powers = 10_000 ** (torch.arange(0, 64, 2, dtype=torch.half) / 64)
    assert powers.isfinite().all()
    assert off(positions.powers_in_half, 0, 10_000) < 0.02
    assert off(positions.powers_in_half, 2000, 10_000) > 0.3


def test_log_space_alone_keeps_half_from_overflowing_and_no_more() -> None:
    assert off(positions.logs_in_half, 0, 500_000) < 0.02
    assert off(positions.logs_in_half, 2000, 500_000) > 0.3


@pytest.mark.parametrize("base", positions.BASES)
def test_the_check_tells_them_apart(base: int) -> None:
    assert not passes(positions.check_encoding, positions.powers_in_half, base)
    assert not passes(positions.check_encoding, positions.logs_in_half, base)
    assert passes(positions.check_encoding, positions.logs_in_single, base)


@pytest.mark.parametrize(("base", "overflown"), [(10_000, 0), (500_000, 1)])
def test_the_exhibit(subject: Subject, base: int, overflown: int) -> None:
    result = HALF.run(subject, base)
    d = result.wrong.matrix.values.shape[1]
    n = (d // 2 - 1) * overflown
    assert f"{n} of {d // 2} powers" in result.note
    assert result.wrong.matrix.largest > overflown * 20 * result.right.matrix.largest
    assert result.table is not None
    assert len(result.table.rows) == 3
