"""Positions against their papers' formulas, computed another way and more exactly."""

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.model import positions

mpmath.mp.dps = 50


@settings(max_examples=25)
@given(st.integers(0, 100_000), st.integers(1, 33))
def test_sinusoidal_positions_equal_fifty_digits(position: int, d_model: int) -> None:
    """ "Attention Is All You Need", section 3.5; even columns are sines, odd ones cosines."""
    expected = []
    for column in range(d_model):
        angle = position / mpmath.power(10_000, mpmath.mpf(column - column % 2) / d_model)
        expected.append(float((mpmath.cos if column % 2 else mpmath.sin)(angle)))
    ours = positions.sinusoidal(torch.tensor([position]), d_model)[0]
    assert ours.dtype == torch.float32
    np.testing.assert_allclose(ours.numpy(), expected, rtol=0, atol=1e-6)


@settings(max_examples=25)
@given(
    st.integers(0, 2048),
    st.integers(1, 16).map(lambda half: 2 * half),
    st.sampled_from([10_000.0, 100_000.0]),
)
def test_rotary_turns_pairs_as_complex_numbers(position: int, d_head: int, base: float) -> None:
    """RoFormer, section 3.2.1: multiply x_i + j·x_{i + d/2} by e^(j·pos·base^(-2i/d)).

    The frequencies are rounded to float32, as in the libraries that train such models; at position
    2048 angles are good to about 1e-4.
    """
    x = torch.randn(1, 1, 1, d_head)
    turn = positions.rotary_turn(torch.tensor([position]), d_head, base)
    ours = positions.rotate(x, turn)[0, 0, 0].double().numpy()
    half = d_head // 2
    pairs = x[0, 0, 0].double().numpy()
    frequencies = [mpmath.power(base, -mpmath.mpf(2 * i) / d_head) for i in range(half)]
    turns = np.array([complex(mpmath.expj(position * f)) for f in frequencies])
    turned = (pairs[:half] + 1j * pairs[half:]) * turns
    np.testing.assert_allclose(ours, [*turned.real, *turned.imag], rtol=0, atol=1e-3)
    if position <= 64:
        np.testing.assert_allclose(ours, [*turned.real, *turned.imag], rtol=0, atol=4e-5)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_rotary_products_depend_on_the_distance_alone(query: int, key: int, shift: int) -> None:
    q, k = torch.randn(2, 1, 1, 1, 8)

    def product(i: int, j: int) -> float:
        turn = positions.rotary_turn(torch.tensor([i, j]), 8, 10_000.0)
        turned_q, turned_k = positions.rotate(q, turn[:, :1]), positions.rotate(k, turn[:, 1:])
        return float((turned_q * turned_k).sum(dtype=float))

    assert product(query, key) == pytest.approx(product(query + shift, key + shift), abs=1e-4)


@pytest.mark.parametrize("start", [0, 512, 8_000, 1_000_000])
def test_angles_stay_exact_far_out(start: int) -> None:
    """The turn between neighbours is the same everywhere, to the last bits of float64."""
    near = positions.rotary_angles(torch.arange(2), 64, 100_000.0)
    far = positions.rotary_angles(torch.arange(start, start + 2), 64, 100_000.0)
    torch.testing.assert_close(far[1] - far[0], near[1], rtol=0, atol=1e-9)


def reference_slopes(n: int) -> list[float]:
    """The procedure published with the ALiBi paper, with its recursion."""
    if math.log2(n).is_integer():
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]
    closest = 2 ** math.floor(math.log2(n))
    return reference_slopes(closest) + reference_slopes(2 * closest)[0::2][: n - closest]


@pytest.mark.parametrize("n_heads", [*range(1, 34), 48, 64, 112])
def test_alibi_slopes_equal_the_papers_procedure(n_heads: int) -> None:
    ours = positions.alibi_slopes(n_heads)
    np.testing.assert_allclose(ours.numpy(), reference_slopes(n_heads), rtol=1e-6)


def test_alibi_slopes_of_eight_heads_are_those_of_the_paper() -> None:
    """Section 3: 1/2^1, 1/2^2, …, 1/2^8."""
    assert positions.alibi_slopes(8).tolist() == [2**-i for i in range(1, 9)]


@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 12))
def test_alibi_falls_off_with_the_distance(n_heads: int, n_query: int, cached: int) -> None:
    n_key = n_query + cached
    bias = positions.alibi_bias(n_heads, n_query, n_key)
    slopes = reference_slopes(n_heads)
    expected = [
        [[-slope * abs(cached + q - k) for k in range(n_key)] for q in range(n_query)]
        for slope in slopes
    ]
    np.testing.assert_allclose(bias.numpy(), expected, rtol=1e-6, atol=0)
