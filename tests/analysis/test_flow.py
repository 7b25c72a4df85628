"""Rollout and raw mean against plain loops, and what masks do to them."""

import numpy as np
import pytest

import attention_lab as lab
from attention_lab.analysis.flow import mean_weights, rollout
from attention_lab.errors import InputError
from tests.factories import tiny_model

SENTENCE = "the animal did not cross the street"


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_rollout_is_the_product_of_a_plain_loop(kind: str) -> None:
    trace = lab.trace(tiny_model(kind, n_layers=3), SENTENCE)  # type: ignore[arg-type]
    n = len(trace.tokens)
    expected = np.eye(n)
    for site in trace.sites:
        weights = trace[site].weights
        layer = np.zeros((n, n))
        for head in weights:
            layer += head / len(weights)
        expected = (0.5 * layer + 0.5 * np.eye(n)) @ expected
    shown = rollout(trace, f"{kind}.self")
    np.testing.assert_allclose(np.nan_to_num(shown.values), expected, atol=1e-6)
    np.testing.assert_allclose(np.nansum(shown.values, axis=1), 1, atol=1e-5)


def test_a_causal_rollout_never_sees_the_future() -> None:
    shown = rollout(lab.trace(tiny_model("decoder"), SENTENCE), "decoder.self")
    n = len(shown.rows)
    assert shown.blocked is not None
    np.testing.assert_array_equal(shown.blocked, ~np.tri(n, dtype=bool))


def test_a_window_reaches_further_with_every_layer() -> None:
    """Each layer sees one token away; three layers together see three."""
    model = tiny_model("encoder", n_layers=3)
    shown = rollout(lab.trace(model, SENTENCE, mask="window:1"), "encoder.self")
    rows, columns = np.indices(shown.values.shape)
    assert shown.blocked is not None
    np.testing.assert_array_equal(shown.blocked, np.abs(rows - columns) > 3)
    assert (shown.values[~shown.blocked] > 0).all()


def test_a_row_that_may_look_at_nothing_keeps_what_it_has() -> None:
    model = tiny_model("encoder")
    n = len(lab.trace(model, SENTENCE).tokens)
    mask = np.ones((n, n), bool)
    mask[2] = False
    shown = rollout(lab.trace(model, SENTENCE, mask=mask), "encoder.self")
    np.testing.assert_allclose(np.nan_to_num(shown.values[2]), np.eye(n)[2])


def test_the_raw_mean_is_over_all_heads_and_layers() -> None:
    trace = lab.trace(tiny_model("encoder"), SENTENCE)
    expected = np.mean([trace[site].weights for site in trace.sites], axis=(0, 1))
    np.testing.assert_allclose(mean_weights(trace, "encoder.self").values, expected, atol=1e-6)


def test_cross_attention_has_a_mean_and_no_rollout() -> None:
    trace = lab.trace(tiny_model("encoder-decoder"), "the cat sat", target="a dog")
    shown = mean_weights(trace, "decoder.cross")
    assert shown.values.shape == (len(trace.target_tokens or ()), len(trace.tokens))
    with pytest.raises(InputError, match="Rollout needs self-attention"):
        rollout(trace, "decoder.cross")
