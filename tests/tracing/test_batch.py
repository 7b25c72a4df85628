"""A padded batch: each text computes what it computes alone, and padding is no word."""

from typing import Any

import numpy as np
import pytest
import torch

import attention_lab as lab
from attention_lab.config import Kind, Limits
from attention_lab.errors import InputError, LimitError, ModelError
from attention_lab.model.points import is_observed
from attention_lab.tracing.batch import Batch, pad
from attention_lab.tracing.trace import Trace
from attention_lab.zoo.loaded import Model
from tests.factories import tiny_model
from tests.tracing.helpers import TARGET, TEXTS

LLAMA: dict[str, Any] = {"position": "rotary", "n_kv_heads": 2, "norm": "rms"}
KINDS: list[tuple[Kind, dict[str, Any]]] = [
    ("encoder", {"position": "learned", "norm_place": "post"}),
    ("encoder", {"position": "none"}),
    ("decoder", LLAMA),
    ("decoder", {"position": "learned"}),
    ("decoder", {"position": "alibi"}),
    ("encoder-decoder", {}),
]
SPECS = ("padding", "padding+window:2", "causal+padding", "window:1|global:0")


def alone(model: Model, text: str, **options: Any) -> Trace:
    return lab.trace(model, text, TARGET if model.target_tokenizer else None, **options)


def output(trace: Trace) -> np.ndarray:
    """What the stack that reads the text puts out."""
    return trace.hidden if trace.encoded is None else trace.encoded


def assert_each_is_alone(batch: Batch, model: Model, **options: Any) -> None:
    for row, tokens in enumerate(batch.tokens):
        trace, real = alone(model, tokens.text, **options), batch.real[row]
        np.testing.assert_allclose(batch.output(row), output(trace), rtol=0, atol=1e-5)
        for site in batch.captured:
            weights = batch.weights(site)[row]
            assert (weights[:, :, ~real] == 0).all()
            own = weights[:, real][:, :, real]
            np.testing.assert_allclose(own, trace[site].weights, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("kind", "changes"), KINDS)
def test_each_text_computes_what_it_computes_alone(kind: Kind, changes: dict[str, Any]) -> None:
    model = tiny_model(kind, **changes)
    batch = lab.trace_batch(model, TEXTS[:3])
    lengths = [len(lab.trace_batch(model, [text]).tokens[0]) for text in TEXTS[:3]]
    assert batch.ids.shape == (3, max(lengths))
    assert batch.real.sum(axis=1).tolist() == lengths
    assert not batch.real.all()
    for row, tokens in enumerate(batch.tokens):
        assert tuple(batch.ids[row, batch.real[row]]) == tokens.ids
        assert (batch.ids[row, ~batch.real[row]] == model.card.pad_id).all()
        assert [each for each in batch.labels(row) if each != "·"] == list(tokens.labels)
    assert_each_is_alone(batch, model)


@pytest.mark.parametrize("spec", SPECS[:2])
def test_so_it_is_under_another_mask(spec: str) -> None:
    model = tiny_model("encoder")
    batch = lab.trace_batch(model, TEXTS[:3], mask=spec)
    assert batch.mask.shape == (3, 1, *batch.ids.shape[1:] * 2)
    assert_each_is_alone(batch, model, mask=spec)


def test_shapes_broadcast_as_the_page_says() -> None:
    batch = lab.trace_batch(tiny_model("encoder"), TEXTS[:2])
    length = batch.ids.shape[1]
    assert batch.padding_mask.shape == (2, 1, 1, length)
    np.testing.assert_array_equal(batch.padding_mask[:, 0, 0], batch.real)
    np.testing.assert_array_equal(batch.mask, batch.padding_mask)
    causal = np.tri(length, dtype=bool)
    assert np.broadcast_shapes(batch.mask.shape, causal.shape) == (2, 1, length, length)
    decoder = lab.trace_batch(tiny_model("decoder"), TEXTS[:2])
    length = decoder.ids.shape[1]
    expected = decoder.padding_mask & np.tri(length, dtype=bool)
    np.testing.assert_array_equal(decoder.mask, expected)
    assert decoder.weights("decoder.0.self").shape == (2, 4, length, length)


def test_without_a_padding_mask_padding_is_read_as_words() -> None:
    model = tiny_model("encoder")
    batch = lab.trace_batch(model, TEXTS[:3], mask="none")
    short = int(batch.real.sum(axis=1).argmin())
    assert batch.weights("encoder.0.self")[short][:, :, ~batch.real[short]].sum() > 0.1
    trace = alone(model, batch.tokens[short].text)
    assert np.abs(batch.output(short) - output(trace)).max() > 0.01


def test_a_decoder_is_padded_on_the_left_only_where_positions_stay_the_same() -> None:
    for position, left in (("rotary", True), ("alibi", True), ("none", True), ("learned", False)):
        batch = lab.trace_batch(tiny_model("decoder", position=position), TEXTS[:3])
        short = int(batch.real.sum(axis=1).argmin())
        assert batch.real[short, -1] == left
        assert batch.real[short, 0] != left
    assert lab.trace_batch(tiny_model("encoder", position="none"), TEXTS[:3]).real[:, 0].all()


def test_rows_of_padding_get_zeros_and_no_nan() -> None:
    """Field note 8: on the left, padding may look at padding alone."""
    batch = lab.trace_batch(tiny_model("decoder", **LLAMA), TEXTS[:3])
    assert np.isfinite(batch.hidden).all()
    for site in batch.captured:
        weights = batch.weights(site)
        assert not weights.transpose(0, 2, 1, 3)[~batch.real].any()
        sums = weights.sum(axis=-1).transpose(0, 2, 1)[batch.real]
        np.testing.assert_allclose(sums, 1, atol=1e-5)


def test_padding_by_hand() -> None:
    ids, real = pad([[5, 6], [7], [8, 9, 4]], pad_id=0)
    assert ids.tolist() == [[5, 6, 0], [7, 0, 0], [8, 9, 4]]
    assert torch.equal(real, ids != 0)
    ids, real = pad([[5, 6], [7], [8, 9, 4]], pad_id=0, left=True)
    assert ids.tolist() == [[0, 5, 6], [0, 0, 7], [8, 9, 4]]
    assert torch.equal(real, ids != 0)


@pytest.mark.parametrize(
    ("texts", "options", "error", "message"),
    [
        ([], {}, InputError, "at least one"),
        ("the cat", {}, InputError, "put the text into a list"),
        (["the cat", " "], {}, LimitError, "empty"),
        (["the cat " * 100], {}, LimitError, "202 tokens; at most 64"),
        (["the cat"] * 3, {"limits": Limits(weight_bytes=1000)}, LimitError, "3 texts of up to 4"),
        (["the cat"], {"mask": "future"}, InputError, "There is no mask"),
        (["the cat"], {"mask": np.ones((3, 3), dtype=bool)}, InputError, r"needed is \(4, 4\)"),
        (["a"], {"mask": np.ones((2, 3, 3), dtype=bool)}, InputError, "has 2 heads"),
    ],
)
def test_what_is_no_batch_is_refused(
    texts: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        lab.trace_batch(tiny_model("encoder"), texts, **options)


def test_a_limit_cuts_each_text() -> None:
    batch = lab.trace_batch(tiny_model("encoder"), TEXTS[:3], limit=5)
    assert batch.ids.shape == (3, 5)
    assert [tokens.left_out for tokens in batch.tokens] == [4, 9, 1]


def test_a_model_in_training_mode_and_unknown_sites_are_refused() -> None:
    model = tiny_model("encoder")
    batch = lab.trace_batch(model, TEXTS[:1])
    with pytest.raises(InputError, match=r"no attention site .*encoder\.0\.self"):
        batch.weights("decoder.0.self")
    model.module.train()
    with pytest.raises(ModelError, match="training mode"):
        lab.trace_batch(model, TEXTS[:1])


def test_nothing_can_be_changed_and_nothing_stays_behind() -> None:
    model = tiny_model("encoder")
    before = alone(model, TEXTS[0]).hidden.copy()
    batch = lab.trace_batch(model, TEXTS[:2])
    arrays = (batch.ids, batch.real, batch.mask, batch.padding_mask, batch.hidden)
    assert not any(array.flags.writeable for array in (*arrays, batch.weights("encoder.1.self")))
    assert not is_observed()
    np.testing.assert_array_equal(alone(model, TEXTS[0]).hidden, before)


SENTENCES = (
    "The animal didn't cross the street because it was too tired.",
    "The cat sat.",
    "A dog saw a cat on the mat.",
)


@pytest.mark.pulled
def test_minilm(minilm: Model) -> None:
    assert_each_is_alone(lab.trace_batch(minilm, SENTENCES), minilm)


@pytest.mark.pulled
def test_smollm2(smollm2: Model) -> None:
    batch = lab.trace_batch(smollm2, SENTENCES)
    for row, text in enumerate(SENTENCES):
        own = output(alone(smollm2, text))
        off = np.abs(batch.output(row) - own).max() / np.abs(own).max()
        assert off <= 1e-5  # its outputs reach a hundred; by 30 layers rounding has grown


def test_the_encoder_of_the_translator() -> None:
    model = lab.load("translator-en-zh")
    assert_each_is_alone(lab.trace_batch(model, SENTENCES), model)
