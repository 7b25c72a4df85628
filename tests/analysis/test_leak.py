"""The leak test finds one open cell of the future, and nothing at all under a causal mask."""

from typing import Any

import numpy as np
import pytest

import attention_lab as lab
from attention_lab.analysis.leak import another, changeable, leak
from attention_lab.config import Kind
from attention_lab.errors import InputError
from attention_lab.zoo.loaded import Model
from tests.factories import tiny_model

TEXT = "the animal did not cross the street because it was too tired ."
TARGET = [12, 7, 19, 8, 30, 11]
LLAMA: dict[str, Any] = {"position": "rotary", "n_kv_heads": 2, "norm": "rms", "n_layers": 4}
MODELS: dict[str, Model] = {
    "encoder": tiny_model("encoder", n_layers=3, norm_place="post"),
    "decoder": tiny_model("decoder", **LLAMA),
    "alibi": tiny_model("decoder", position="alibi"),
}


def ids_of(model: Model, text: str = TEXT) -> tuple[int, ...]:
    return lab.trace(model, text, *([""] if model.target_tokenizer else [])).tokens.ids


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("spec", ["causal", "causal+window:3", "causal+padding", "causal+prefix:0"])
def test_a_causal_mask_leaks_not_one_bit(name: str, spec: str) -> None:
    model = MODELS[name]
    ids = ids_of(model)
    for place in range(len(ids)):
        found = leak(model, ids, place, (ids[place] + 3) % model.config.d_vocab, mask=spec)
        assert found.before == ()
        assert (found.output[:place] == 0).all()
        assert (found.layers[:, :place] == 0).all()
        assert found.moved[0] == place


@pytest.mark.parametrize("name", MODELS)
def test_one_open_cell_of_the_future_is_found(name: str) -> None:
    model = MODELS[name]
    ids = ids_of(model)
    query, key = 3, 8
    found = leak(model, ids, key, ids[key] + 1, mask=f"causal^cells:{query}.{key}")
    assert found.before == tuple(range(query, key))  # from layer 1 on, by way of the query
    np.testing.assert_array_equal(np.flatnonzero(found.layers[0] > 0)[:2], [query, key])
    for layer in found.layers[1:]:
        np.testing.assert_array_equal(np.flatnonzero(layer > 0), range(query, len(ids)))
    # what nobody sees before its time leaks nothing, with the same mask
    later = leak(model, ids, key + 1, ids[key + 1] + 1, mask=f"causal^cells:{query}.{key}")
    assert later.before == ()


def test_an_open_mask_leaks_to_all() -> None:
    model = MODELS["encoder"]
    ids = ids_of(model)
    found = leak(model, ids, 5, ids[5] + 1)
    assert found.moved == tuple(range(len(ids)))
    assert found.before == tuple(range(5))


def test_packed_sentences_leak_nothing_to_each_other() -> None:
    model = MODELS["encoder"]
    ids = ids_of(model)
    found = leak(model, ids, 5, ids[5] + 1, mask="blocks:4,5")
    assert found.moved == (4, 5, 6, 7, 8)


def test_the_movement_is_that_of_two_traces() -> None:
    model = MODELS["decoder"]
    ids = ids_of(model)
    other = [*ids[:4], 9, *ids[5:]]
    before, after = lab.trace_ids(model, ids), lab.trace_ids(model, other)
    found = leak(model, ids, 4, 9)
    np.testing.assert_array_equal(found.output, np.abs(before.hidden - after.hidden).max(axis=1))
    for layer, moved in enumerate(found.layers):
        streams = [trace.residual(f"decoder.{layer}", "post") for trace in (before, after)]
        np.testing.assert_array_equal(moved, np.abs(streams[1] - streams[0]).max(axis=1))


def test_both_stacks_of_an_encoder_decoder() -> None:
    model: Model = tiny_model("encoder-decoder")
    ids = ids_of(model)
    target = leak(model, ids, 3, 9, "decoder", TARGET)
    assert len(target.output) == len(TARGET) + 1
    assert target.moved == (3, 4, 5, 6)
    source = leak(model, ids, 3, 9, "encoder", TARGET)
    assert source.moved == tuple(range(len(ids)))
    closed = leak(model, ids, 3, 9, "encoder", TARGET, mask="causal")
    assert closed.before == ()
    assert closed.layers.shape == (model.config.n_layers, len(ids))


@pytest.mark.parametrize(
    ("kind", "place", "new", "stack"),
    [
        ("encoder", -1, 5, None),
        ("encoder", 99, 5, None),
        ("decoder", 0, "own", None),
        ("encoder-decoder", 0, 5, "decoder"),
        ("encoder-decoder", 9, 5, "decoder"),
        ("encoder", 0, 5, "decoder"),
    ],
)
def test_what_changes_nothing_is_refused(kind: Kind, place: int, new: Any, stack: Any) -> None:
    model = tiny_model(kind)
    ids = ids_of(model)
    new_id = ids[place] if new == "own" else new
    with pytest.raises(InputError, match=f"Place {place} cannot be changed to token {new_id}"):
        leak(model, ids, place, new_id, stack, TARGET if kind == "encoder-decoder" else ())


@pytest.mark.parametrize("text", [TEXT, "a", "the the the", "zzz"])
def test_there_is_always_something_to_change(text: str) -> None:
    model = MODELS["encoder"]
    tokens = lab.trace(model, text).tokens
    place = changeable(tokens)
    assert not tokens[place].special
    assert another(tokens, place, model.config.d_vocab) != tokens[place].id


@pytest.mark.pulled
@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_real_models(name: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(name)
    ids = ids_of(model)
    assert leak(model, ids, 9, ids[2], mask="causal").before == ()
    assert leak(model, ids, 9, ids[2], mask="causal^cells:4.9").before == (4, 5, 6, 7, 8)
