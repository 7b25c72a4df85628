"""`trace_ids`: the same run as for a text, from the ids alone."""

import numpy as np
import pytest

import attention_lab as lab
from attention_lab.errors import InputError, LimitError
from attention_lab.tracing.record import trace_ids
from tests.factories import tiny_model
from tests.tracing.helpers import assert_identical, numbers


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_the_ids_of_a_text_give_its_trace(kind: str) -> None:
    model = tiny_model(kind)  # type: ignore[arg-type]
    expected = lab.trace(model, "the cat sat .")
    found = trace_ids(model, expected.tokens.ids)
    assert found.tokens.ids == expected.tokens.ids
    assert_identical(numbers(found), numbers(expected))


def test_an_encoder_decoder_takes_both() -> None:
    model = tiny_model("encoder-decoder")
    expected = lab.trace(model, "the cat sat .", target="a dog")
    found = trace_ids(model, expected.tokens.ids, "a dog")
    assert_identical(numbers(found), numbers(expected))


def test_masks_and_edits_count() -> None:
    model = tiny_model("encoder")
    ids = lab.trace(model, "the cat sat").tokens.ids
    causal = trace_ids(model, ids, mask="causal", edits=[lab.ablate("encoder.0.self", 1)])
    assert np.triu(causal["encoder.1.self"].weights, 1).max() == 0
    assert not causal["encoder.0.self"].z[1].any()


def test_impossible_ids_are_refused() -> None:
    model = tiny_model("decoder")
    with pytest.raises(InputError, match="There is no token 9999"):
        trace_ids(model, [9999])
    with pytest.raises(LimitError, match="no characters"):
        trace_ids(model, [])
    with pytest.raises(LimitError, match="has 65 tokens; at most 64"):
        trace_ids(model, [7] * 65)
