"""Position tables against fifty digits, and what they promise against itself."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.analysis import positions
from attention_lab.errors import InputError

mpmath.mp.dps = 50
EVEN = st.integers(1, 256).map(lambda half: 2 * half)


@settings(max_examples=20)
@given(st.integers(1, 512), st.integers(1, 512), st.data())
def test_any_cell_of_the_table_equals_fifty_digits(n: int, d: int, data: st.DataObject) -> None:
    table = positions.sinusoidal_table(n, d)
    assert table.shape == (n, d)
    assert table.dtype == np.float64
    row, column = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, d - 1))
    angle = row / mpmath.power(10_000, mpmath.mpf(column - column % 2) / d)
    exact = (mpmath.cos if column % 2 else mpmath.sin)(angle)
    assert table[row, column] == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.parametrize("d", [2, 16, 128, 512])
def test_one_matrix_moves_every_position_by_k(d: int) -> None:
    """ "Attention Is All You Need", section 3.5, for all k up to 64 and 512 positions."""
    table = positions.sinusoidal_table(512, d)
    for k in range(1, 65):
        shift = positions.shift_map(d, k)
        np.testing.assert_allclose(table[:-k] @ shift.T, table[k:], rtol=0, atol=1e-6)
        assert positions.shift_error(table, shift, k) < 1e-10


@given(EVEN, st.integers(0, 64), st.integers(0, 64))
def test_shifts_are_rotations_and_add_up(d: int, a: int, b: int) -> None:
    one, other = positions.shift_map(d, a), positions.shift_map(d, b)
    np.testing.assert_allclose(one @ one.T, np.eye(d), atol=1e-12)
    np.testing.assert_allclose(one @ other, positions.shift_map(d, a + b), atol=1e-12)


def test_the_error_of_a_wrong_matrix_is_seen() -> None:
    table = positions.sinusoidal_table(50, 128)
    assert positions.shift_error(table, positions.shift_map(128, 3), 2) > 0.5


@pytest.mark.parametrize("d", [1, 7, 511])
def test_an_odd_number_of_dimensions_has_no_shift(d: int) -> None:
    with pytest.raises(InputError, match="even number of dimensions"):
        positions.shift_map(d, 1)


@pytest.mark.parametrize("k", [-1, 9, 10, 64])
def test_a_shift_beyond_the_table_is_refused(k: int) -> None:
    table = positions.sinusoidal_table(10, 4)
    with pytest.raises(InputError, match="there are 10: take more"):
        positions.fitted_shift(table, k)


@given(st.integers(2, 64), EVEN)
def test_the_similarity_of_sinusoidal_positions_depends_on_distance_only(n: int, d: int) -> None:
    """sin a sin b + cos a cos b = cos(a - b), so the product is Σ cos(k · ω_i)."""
    fall = positions.by_distance(positions.similarity(positions.sinusoidal_table(n, d)))
    omega = 2 * np.pi / positions.wavelengths(d)
    expected = np.cos(np.arange(n)[:, None] * omega).sum(axis=1)
    np.testing.assert_allclose(fall.mean, expected, atol=1e-9)
    assert fall.deviation < 1e-9


def test_means_over_diagonals_are_those_of_a_plain_loop() -> None:
    matrix = np.random.default_rng(0).normal(size=(7, 7))
    fall = positions.by_distance(matrix)
    for distance in range(7):
        cells = [matrix[i, i - distance] for i in range(distance, 7)]
        assert fall.mean[distance] == pytest.approx(sum(cells) / len(cells))
        assert fall.smallest[distance] == min(cells)
        assert fall.largest[distance] == max(cells)
    assert fall.deviation == pytest.approx((fall.largest - fall.smallest).max())


def test_a_fit_finds_a_map_that_there_is() -> None:
    fit = positions.fitted_shift(positions.sinusoidal_table(200, 6), 3)
    np.testing.assert_allclose(fit.shift, positions.shift_map(6, 3), atol=1e-6)
    assert fit.seen < 1e-9
    assert fit.unseen < 1e-9


def test_a_fit_to_noise_shows_on_what_it_has_not_seen() -> None:
    noise = np.random.default_rng(0).normal(size=(100, 64))
    fit = positions.fitted_shift(noise, 1)
    assert fit.seen < 1e-9
    assert fit.unseen > 0.9
