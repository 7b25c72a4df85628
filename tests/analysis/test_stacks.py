"""Encoder beside decoder: what the one sees and the other does not, by running both."""

import numpy as np
import pytest

import attention_lab as lab
from attention_lab.analysis.stacks import replaced, side_by_side
from tests.factories import tiny_model

TEXT = "the cat sat on the mat"


def test_an_encoder_decoder_shows_its_two_stacks() -> None:
    trace = lab.trace(tiny_model("encoder-decoder"), TEXT, target="a dog sat")
    encoder, decoder = side_by_side(trace)
    n, m = len(trace.tokens), len(trace.target_tokens or ())
    assert (encoder.n_tokens, decoder.n_tokens) == (n, m)
    assert (encoder.open_cells, decoder.open_cells) == (n * n, m * (m + 1) // 2)
    assert (encoder.first_sees, decoder.first_sees) == (n, 1)
    assert (encoder.last_sees, decoder.last_sees) == (n, m)
    assert (encoder.cross_keys, decoder.cross_keys) == (0, n)
    assert encoder.moved > 1e-3
    assert decoder.moved == 0
    assert encoder.is_own
    assert decoder.is_own


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_one_stack_is_run_under_both_masks(kind: str) -> None:
    trace = lab.trace(tiny_model(kind), TEXT)  # type: ignore[arg-type]
    encoder, decoder = side_by_side(trace)
    n = len(trace.tokens)
    assert (encoder.open_cells, decoder.open_cells) == (n * n, n * (n + 1) // 2)
    assert (encoder.is_own, decoder.is_own) == (kind == "encoder", kind == "decoder")
    assert encoder.moved > 1e-3
    assert decoder.moved < 1e-5
    assert encoder.output == decoder.output == (n, 16)


def test_entropy_is_the_mean_over_all_rows_of_all_heads() -> None:
    trace = lab.trace(tiny_model("encoder"), TEXT)
    rows = [row for site in trace.sites for head in trace[site].weights for row in head]
    expected = np.mean([-(row * np.log2(row)).sum() for row in rows])
    assert side_by_side(trace)[0].entropy == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("text", ["cat", "cat cat cat", TEXT])
def test_the_last_word_is_replaced_by_another(text: str) -> None:
    tokens = lab.trace(tiny_model("encoder"), text).tokens
    ids = replaced(tokens)
    changed = [i for i, (a, b) in enumerate(zip(ids, tokens.ids, strict=True)) if a != b]
    assert changed == [len(tokens) - 2]  # before [SEP]


def test_an_empty_target_can_be_compared_too() -> None:
    trace = lab.trace(tiny_model("encoder-decoder"), TEXT, target=[])
    _encoder, decoder = side_by_side(trace)
    assert (decoder.n_tokens, decoder.moved) == (1, 0)
