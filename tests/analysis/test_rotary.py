"""A query and a key at any two positions: against the model's own run, on tiny and real models."""

from typing import Any

import numpy as np
import pytest

import attention_lab as lab
from attention_lab import zoo
from attention_lab.analysis import rotary
from attention_lab.analysis.positions import by_distance
from tests.factories import tiny_model

TEXT = "the animal did not cross the street because it was too tired ."


@pytest.mark.parametrize("start", [0, 7])
@pytest.mark.parametrize("heads", [(4, 4), (4, 2), (6, 1)])
def test_turned_back_and_forth_gives_the_scores_of_the_run(
    heads: tuple[int, int], start: int
) -> None:
    n_heads, n_kv_heads = heads
    model = tiny_model("decoder", position="rotary", n_heads=n_heads, n_kv_heads=n_kv_heads)
    trace = lab.trace(model, TEXT, edits=[lab.position(start=start)])
    scores = trace["decoder.1.self"].scores
    for head, query, key in ((0, 5, 2), (n_heads - 1, 9, 9), (1, 3, 12)):
        q, k = rotary.unturned(trace, "decoder.1.self", head, query, key)
        table = rotary.scores(q, k, np.arange(start + 13), model.config)
        assert table[start + query, start + key] == pytest.approx(
            scores[head, query, key], abs=1e-4
        )


def test_without_rotary_positions_nothing_is_turned_back() -> None:
    trace = lab.trace(tiny_model("decoder", position="none"), TEXT)
    q, k = rotary.unturned(trace, "decoder.0.self", 2, 4, 1)
    np.testing.assert_array_equal(q.numpy(), trace["decoder.0.self"].q[2, 4])
    np.testing.assert_array_equal(k.numpy(), trace["decoder.0.self"].k[2, 1])


def test_wavelengths_double_as_the_base_says() -> None:
    config = tiny_model("decoder", d_head=8, rotary_base=16.0).config
    np.testing.assert_allclose(rotary.wavelengths(config), 2 * np.pi * np.array([1, 2, 4, 8]))


@pytest.mark.pulled
@pytest.mark.parametrize("place", [(0, 3, 9, 2), (13, 8, 9, 1), (18, 6, 5, 4), (29, 0, 12, 0)])
def test_scores_of_the_real_model_depend_on_distance_only(smollm2: zoo.Model, place: Any) -> None:
    """Within 1e-4, for one query and one key of a real sentence at each two of 512 positions."""
    layer, head, query, key = place
    trace = lab.trace(smollm2, "The animal didn't cross the street because it was too tired.")
    site = f"decoder.{layer}.self"
    q, k = rotary.unturned(trace, site, head, query, key)
    fall = by_distance(rotary.scores(q, k, np.arange(512), smollm2.config))
    assert fall.deviation < 1e-4
    own = trace[site].scores[head, query, key]
    assert fall.mean[query - key] == pytest.approx(own, abs=1e-4)
    assert np.ptp(fall.mean) > 0.1  # and on distance they do depend


@pytest.mark.pulled
@pytest.mark.parametrize("start", [100, 5_000])
def test_the_real_model_scores_a_text_alike_wherever_it_stands(
    smollm2: zoo.Model, start: int
) -> None:
    """In the first layer, before rounding has gone through 30 of them."""
    text = "The animal didn't cross the street because it was too tired."
    here = lab.trace(smollm2, text)
    there = lab.trace(smollm2, text, edits=[lab.position(start=start)])
    first = "decoder.0.self"
    np.testing.assert_allclose(there[first].scores, here[first].scores, rtol=0, atol=1e-4)
    assert np.abs(there[first].q - here[first].q).max() > 1e-2
