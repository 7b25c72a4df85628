"""How much alike heads are: against scipy-free arithmetic by mpmath, and its limits."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest

import attention_lab as lab
from attention_lab.analysis.similarity import similarity
from tests.factories import tiny_model

SENTENCE = "the animal did not cross the street"


def distance(p: np.ndarray, q: np.ndarray) -> float:
    """The Jensen-Shannon distance in base 2, from its definition by two divergences."""

    def divergence(a: np.ndarray, b: np.ndarray) -> mpmath.mpf:
        pairs = [(mpmath.mpf(float(x)), mpmath.mpf(float(y))) for x, y in zip(a, b, strict=True)]
        return mpmath.fsum(x * mpmath.log(x / y, 2) for x, y in pairs if x > 0)

    middle = (p + q) / 2
    return float(mpmath.sqrt(abs(divergence(p, middle) + divergence(q, middle)) / 2))


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_it_is_one_minus_the_mean_jensen_shannon_distance(kind: str) -> None:
    trace = lab.trace(tiny_model(kind), SENTENCE)  # type: ignore[arg-type]
    found = similarity(trace, f"{kind}.self")
    one = trace[f"{kind}.0.self"].weights[1].astype(np.float64)
    other = trace[f"{kind}.1.self"].weights[2].astype(np.float64)
    rows = range(len(one)) if kind == "encoder" else range(1, len(one))
    expected = 1 - np.mean([distance(one[i], other[i]) for i in rows])
    i, j = found.places.index((0, 1)), found.places.index((1, 2))
    assert found.values[i, j] == pytest.approx(expected, abs=1e-4)
    assert found.n_queries == len(rows)


def test_it_is_symmetric_with_ones_on_the_diagonal() -> None:
    found = similarity(lab.trace(tiny_model("encoder"), SENTENCE), "encoder.self")
    np.testing.assert_array_equal(found.values, found.values.T)
    np.testing.assert_array_equal(np.diag(found.values), 1)
    assert ((found.values >= 0) & (found.values <= 1)).all()
    assert len(found.places) == 8


def test_equal_heads_are_alike() -> None:
    model = tiny_model("encoder", n_layers=1)
    for name, parameter in model.module.named_parameters():
        if "w_q" in name:
            parameter.zero_()  # every head divides its attention evenly
    found = similarity(lab.trace(model, SENTENCE), "encoder.self")
    np.testing.assert_allclose(found.values, 1, atol=2e-3)


def test_a_long_text_is_sampled_evenly_and_says_so() -> None:
    trace = lab.trace(tiny_model("encoder"), "the cat sat on the mat . " * 7)
    full, part = similarity(trace, "encoder.self"), similarity(trace, "encoder.self", budget=12_000)
    assert full.n_queries == full.n_tokens == part.n_tokens == 51
    assert 2 <= part.n_queries < 10
    assert np.abs(full.values - part.values).max() < 0.25


def test_without_a_choice_there_is_nothing_to_compare() -> None:
    found = similarity(lab.trace(tiny_model("encoder"), SENTENCE, mask="window:0"), "encoder.self")
    assert found.n_queries == 0
    assert np.isnan(found.values).all()


def test_places_are_in_the_order_of_computation() -> None:
    found = similarity(lab.trace(tiny_model("decoder"), SENTENCE), "decoder.self")
    assert all(one < other for one, other in pairwise(found.places))
