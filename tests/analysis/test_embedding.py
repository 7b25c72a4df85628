"""Word and position are what the first layer reads, and nothing else is."""

from typing import Any

import numpy as np
import pytest

import attention_lab as lab
from attention_lab import zoo
from attention_lab.analysis.embedding import learned_table, parts
from tests.factories import tiny_model

TEXT = "the cat sat on the mat ."


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("position", ["sinusoidal", "learned", "rotary", "alibi", "none"])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "encoder-decoder"])
def test_the_sum_is_what_the_first_layer_reads(kind: Any, position: Any, scale: bool) -> None:
    model = tiny_model(kind, position=position, embed_scale=scale)
    target = "<s>" if kind == "encoder-decoder" else None
    trace = lab.trace(model, TEXT, target=target)
    for stack in model.config.stacks:
        found = parts(trace, stack)
        np.testing.assert_allclose(found.total, trace.residual(f"{stack}.0", "pre"), atol=1e-6)
        assert (np.abs(found.place).max() > 0) == (position in ("sinusoidal", "learned"))
        for name, rows in (("word", found.word), ("place", found.place), ("total", found.total)):
            lengths = [sum(float(x) ** 2 for x in row) ** 0.5 for row in rows]
            np.testing.assert_allclose(found.norms[name], lengths, rtol=1e-5)


def test_a_text_that_starts_later_has_later_positions() -> None:
    model = tiny_model("encoder", position="learned")
    found = parts(lab.trace(model, TEXT, edits=[lab.position(start=4)]), "encoder")
    table = learned_table(model)
    assert table is not None
    np.testing.assert_array_equal(found.place, table[4 : 4 + len(found.tokens)])


def test_a_model_without_learned_positions_has_no_table() -> None:
    assert learned_table(tiny_model("decoder", position="rotary")) is None


@pytest.mark.pulled
def test_minilm_has_learned_512_positions(minilm: zoo.Model) -> None:
    table = learned_table(minilm)
    assert table is not None
    assert table.shape == (512, 384)
