"""Other positions than a model was made with, against models that were made with them."""

from dataclasses import replace
from inspect import unwrap
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import attention_lab as lab
from attention_lab.errors import InputError
from tests.factories import tiny_model
from tests.tracing.helpers import (
    assert_identical,
    assert_same_output,
    numbers,
    run,
    with_parameters,
)


def test_none_on_learned_positions_is_as_if_they_were_zero() -> None:
    model = tiny_model("encoder", position="learned")

    def change(state: dict[str, Tensor]) -> None:
        state["encoder.embed.position.weight"][:] = 0

    trace = run(model, edits=[lab.position("none")])
    assert_same_output(trace, run(with_parameters(model, change)))
    assert not np.allclose(trace.hidden, run(model).hidden)


def test_none_on_rotary_leaves_queries_as_they_were_projected() -> None:
    model = tiny_model("decoder", position="rotary")
    trace = run(model, edits=[lab.position("none")])
    assert trace.position == "none"
    stream = torch.from_numpy(trace.residual("decoder.0", "pre").copy())
    layer = model.module.decoder.layers[0]
    q = layer.self_attn.w_q(layer.self_norm(stream))
    n = len(trace.tokens)
    expected = q.view(n, 4, 4).transpose(0, 1).numpy()
    np.testing.assert_allclose(trace["decoder.0.self"].q, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(run(model)["decoder.0.self"].q[:, 0], expected[:, 0], atol=1e-6)


@pytest.mark.parametrize("own", ["sinusoidal", "learned", "rotary", "alibi", "none"])
@pytest.mark.parametrize("other", ["sinusoidal", "rotary", "alibi", "none"])
def test_any_model_takes_positions_that_are_not_learned(own: Any, other: Any) -> None:
    """As if the model had been made with them; the scores of the trace hold ALiBi's bias."""
    model = tiny_model("decoder", position=own)
    trace = run(model, edits=[lab.position(other)])

    def drop(state: dict[str, Tensor]) -> None:
        state.pop("decoder.embed.position.weight", None)

    as_made = replace(model, config=replace(model.config, position=other))
    assert_identical(numbers(trace), numbers(run(with_parameters(as_made, drop))))
    site = trace["decoder.1.self"]
    bias = site.scores - site.q @ site.k.mT / 2
    assert (np.abs(bias).max() > 1e-3) == (other == "alibi")


def test_of_several_positions_the_last_one_counts() -> None:
    model = tiny_model("decoder")
    trace = run(model, edits=[lab.position("alibi"), lab.position("none")])
    assert_identical(numbers(trace), numbers(run(model, edits=[lab.position("none")])))


@pytest.mark.parametrize("own", ["sinusoidal", "rotary", "alibi", "none"])
def test_learned_positions_are_refused_where_nothing_was_learned(own: Any) -> None:
    message = rf"no learned positions; it was trained with {own}\."
    with pytest.raises(InputError, match=message):
        run(tiny_model("decoder", position=own), edits=[lab.position("learned")])


def test_rotary_positions_are_refused_where_dimensions_make_no_pairs() -> None:
    with pytest.raises(InputError, match="d_head is 3, not even"):
        run(tiny_model("decoder", d_head=3), edits=[lab.position("rotary")])


@pytest.mark.parametrize("kind", ["", "Rotary", "rope", 3])
def test_unknown_positions_are_refused_with_those_that_there_are(kind: Any) -> None:
    with pytest.raises(InputError, match="there are sinusoidal, learned, rotary, alibi, none"):
        unwrap(lab.position)(kind)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "encoder-decoder"])
def test_a_text_that_starts_later_is_the_end_of_a_longer_one(kind: Any) -> None:
    """Learned rows 5, 6, … are added where the text starts at 5."""
    model = tiny_model(kind, position="learned")

    def move(state: dict[str, Tensor]) -> None:
        for name, table in state.items():
            if name.endswith("position.weight"):
                state[name] = table.roll(-5, 0)

    trace = run(model, edits=[lab.position(start=5)])
    assert (trace.position, trace.start) == ("learned", 5)
    assert_same_output(trace, run(with_parameters(model, move)))
    assert not np.allclose(trace.hidden, run(model).hidden)


def test_learned_positions_end_where_training_did() -> None:
    model = tiny_model("encoder", position="learned", max_positions=20)
    n = len(run(model).tokens)
    run(model, edits=[lab.position(start=20 - n)])
    with pytest.raises(InputError, match="learned 20 positions, and the text needs 21"):
        run(model, edits=[lab.position(start=21 - n)])


@pytest.mark.parametrize("own", ["rotary", "alibi", "none"])
def test_where_distance_alone_counts_the_start_changes_nothing(own: Any) -> None:
    model = tiny_model("decoder", position=own)
    moved = run(model, edits=[lab.position(start=40)])
    np.testing.assert_allclose(moved.hidden, run(model).hidden, rtol=0, atol=1e-4)
    rolled = np.abs(moved["decoder.0.self"].q - run(model)["decoder.0.self"].q).max()
    assert (rolled > 1e-2) == (own == "rotary")


@pytest.mark.parametrize("start", [-1, 1_000_001, 1.5, True, "3", None, float("nan")])
def test_impossible_starts_are_refused_with_what_is_possible(start: Any) -> None:
    with pytest.raises(InputError, match="whole numbers 0 to 1000000"):
        unwrap(lab.position)(start=start)
