"""Reorderings: which there are, and that a model without positions cannot tell them apart."""

from inspect import unwrap
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

import attention_lab as lab
from attention_lab.analysis import order as orders
from attention_lab.errors import InputError
from attention_lab.tokens import tokenize
from tests.factories import byte_tokenizer, tiny_model, tiny_tokenizer

TEXT = "the animal did not cross the street because it was too tired ."


def spoken(text: str, tokenizer: Tokenizer | None = None) -> list[str]:
    tokens = tokenize(tokenizer or tiny_tokenizer(), text)
    return ["".join(tokens[i].text for i in unit) for unit in orders.words(tokens)]


def test_words_are_those_between_spaces_and_single_chinese_characters() -> None:
    assert spoken("the cat , sat . 猫追老鼠") == [*("the", "cat", ",", "sat", "."), *"猫追老鼠"]


def test_bytes_of_a_character_and_letters_of_a_word_stay_together() -> None:
    tokens = tokenize(byte_tokenizer(), "Ab é 猫老 don't")
    units = [tokens.text[tokens[u[0]].start : tokens[u[-1]].end] for u in orders.words(tokens)]
    assert [unit.strip() for unit in units if unit.strip()] == ["Ab", "é", "猫", "老", "don't"]
    assert sorted(chain(*orders.words(tokens))) == list(range(len(tokens)))


@given(st.permutations(range(7)))
def test_special_tokens_stay_and_words_move(order: list[int]) -> None:
    tokens = tokenize(tiny_tokenizer(), "the cat sat on a mat .")
    places = orders.moved_places(tokens, order)
    assert places[0] == 0
    assert places[-1] == len(tokens) - 1
    words = ("the", "cat", "sat", "on", "a", "mat", ".")
    assert [tokens[i].text for i in places[1:-1]] == [words[i] for i in order]


BAD: list[list[Any]] = [
    [],
    [0],
    [0, 1, 1],
    [0, 1, 3],
    [0, 1, 2, 3],
    [0, 1, -1],
    [0, 1, True],
]
NO_INTS: list[list[Any]] = [[0, 1, "2"], [0, 1, 2.0]]  # beartype looks at an item picked at random


@pytest.mark.parametrize("order", BAD + NO_INTS)
def test_impossible_orders_are_refused_with_what_is_possible(order: list[Any]) -> None:
    with pytest.raises(InputError, match="each place from 0 to 2 exactly once"):
        unwrap(orders.check_order)(order, 3)


@pytest.mark.parametrize("order", BAD)
def test_places_are_moved_by_possible_orders_alone(order: list[int]) -> None:
    with pytest.raises(InputError, match="each place from 0 to 2 exactly once"):
        orders.moved_places(tokenize(tiny_tokenizer(), "the cat sat"), order)


def test_a_prepared_order_is_found_from_the_other_sentence() -> None:
    def between(one: str, other: str) -> orders.Order | None:
        tokenizer = tiny_tokenizer()
        return orders.order_between(tokenize(tokenizer, one), tokenize(tokenizer, other))

    assert between("猫追老鼠", "老鼠追猫") == (2, 3, 1, 0)
    assert between("The cat sat on the dog", "the dog sat on the cat") == (0, 5, 2, 3, 4, 1)
    assert between("the cat sat", "the cat") is None
    assert between("the cat sat", "the dog sat") is None
    assert between("the cat", "the cat cat") is None


def runs(model: lab.Model, order: tuple[int, ...], **options: Any) -> orders.Comparison:
    """A sentence and its reordering through the model."""
    text = lab.trace(model, TEXT, **options)
    places = orders.moved_places(text.tokens, order)
    target = text.target_tokens.ids[1:] if text.target_tokens else None
    ids = [text.tokens.ids[i] for i in places]
    other = lab.trace_ids(model, ids, target, **options)
    return orders.compare(text, other, places, model.config.sites[0])


@settings(max_examples=15)
@given(st.permutations(range(13)), st.sampled_from(["encoder", "decoder", "encoder-decoder"]))
def test_without_positions_and_mask_outputs_only_move(order: list[int], kind: Any) -> None:
    model = tiny_model(kind)
    off = runs(model, tuple(order), mask="none", edits=[lab.position("none")])
    assert off.largest < 1e-4
    assert np.abs(off.weights).max() < 1e-5
    on = runs(model, tuple(order), mask="none", edits=[lab.position("sinusoidal")])
    assert (on.largest > 1e-2) == (list(order) != sorted(order))


def test_a_causal_mask_knows_order_without_positions() -> None:
    off = runs(tiny_model("decoder"), tuple(range(12, -1, -1)), edits=[lab.position("none")])
    assert off.largest > 1e-2


REAL = [
    ("The animal didn't cross the street because it was too tired.", 12),
    ("A child gave the old man an apple and a red book yesterday", 12),
]


@pytest.mark.pulled
@pytest.mark.parametrize(("text", "seed"), [*REAL, (REAL[0][0], 3)])
@pytest.mark.parametrize("name", ["minilm", "translator-en-zh"])
def test_real_encoders_know_order_by_their_positions_alone(name: str, text: str, seed: int) -> None:
    model = lab.load(name)
    for edits, is_off in (([lab.position("none")], True), ([], False)):
        trace = lab.trace(model, text, edits=edits)
        n = len(orders.words(trace.tokens))
        places = orders.moved_places(
            trace.tokens, np.random.default_rng(seed).permutation(n).tolist()
        )
        other = lab.trace_ids(model, [trace.tokens.ids[i] for i in places], edits=edits)
        found = orders.compare(trace, other, places, "encoder.0.self")
        assert found.largest < 1e-5 if is_off else found.largest > 1e-2
