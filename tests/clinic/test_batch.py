"""Padding that is looked at and a future that leaks, through real models: both sides."""

import numpy as np
import pytest
import torch

from attention_lab.clinic import batch
from attention_lab.clinic.exhibit import passes
from attention_lab.clinic.subject import Subject
from attention_lab.zoo.loaded import Model
from tests.clinic.conftest import MODELS, SENTENCE, subject_of
from tests.factories import tiny_model

PADDING, LEAK = batch.exhibits()
DIFFERENCE = "Output alone and in the batch, largest difference"


@pytest.mark.parametrize("pads", [1, 7])
def test_padding_changes_the_output_unless_it_is_masked(subject: Subject, pads: int) -> None:
    result = PADDING.run(subject, pads)
    assert float(dict(result.wrong.numbers)[DIFFERENCE]) > 0.01
    assert float(dict(result.right.numbers)[DIFFERENCE]) <= 1e-5
    assert not result.wrong.passes
    assert result.right.passes
    place = np.array([label == "·" for label in result.wrong.matrix.columns])
    assert place.sum() == pads
    assert place[:pads].all() == subject.is_causal  # a decoder is padded on the left
    assert result.wrong.matrix.values[:, place].sum() > 0.01
    assert (result.right.matrix.values[:, place] == 0).all()
    # with the mask the head looks as it does on the sentence alone
    own = subject.site.weights[subject.head]
    np.testing.assert_allclose(result.right.matrix.values[:, ~place], own, atol=1e-5)


def test_a_causal_mask_hides_padding_on_the_right() -> None:
    subject = subject_of(tiny_model("decoder", position="sinusoidal"))
    assert not batch.pads_left(subject.config)
    result = PADDING.run(subject, 5)
    assert result.wrong.passes
    assert result.right.passes
    assert "a causal mask hides it" in result.note


def test_there_is_never_more_padding_than_room() -> None:
    subject = subject_of(tiny_model("encoder", position="learned", max_positions=18))
    assert PADDING.setting is not None
    options = PADDING.setting(subject).options
    assert options == tuple(range(1, 18 - subject.n + 1))
    PADDING.run(subject, options[-1])


def test_an_off_by_one_mask_leaks_a_token_a_layer(subject: Subject) -> None:
    result = LEAK.run(subject, 0)
    layers = subject.config.n_layers
    place = subject.n - (1 if subject.is_causal else 2)  # before the special token of encoders
    wrong, right = result.wrong.matrix.values, result.right.matrix.values
    for layer in range(layers):
        np.testing.assert_array_equal(np.flatnonzero(wrong[layer] > 0)[0], place - 1 - layer)
        assert (right[layer, :place] == 0).all()
        assert right[layer, place] > 0
    moved = "Earlier tokens whose output moved"
    assert dict(result.wrong.numbers)[moved] == str(layers)
    assert dict(result.right.numbers)[moved] == "0"
    assert not result.wrong.passes
    assert result.right.passes


def test_the_masks_are_triangles() -> None:
    wrong, right = batch.causal_off_by_one(4).int(), batch.causal(4).int()
    assert right.tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    assert wrong.tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]]


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("text", ["a", "the the the", "zzz"])
def test_short_and_repeated_texts_have_something_to_change(model: Model, text: str) -> None:
    subject = subject_of(model, text)
    tokens = subject.trace.tokens
    place = batch.changeable(tokens)
    new = batch.another(tokens, place, subject.config.d_vocab)
    assert 0 <= place < subject.n
    assert new != subject.trace.tokens[place].id
    assert 0 <= new < subject.config.d_vocab
    assert LEAK.run(subject, 0).right.passes


def test_nothing_stays_on_the_model(subject: Subject) -> None:
    before = subject.forward(subject.ids)
    PADDING.run(subject, 3)
    LEAK.run(subject, 0)
    assert torch.equal(subject.forward(subject.ids), before)


def test_the_checks_tell_apart() -> None:
    x = torch.arange(6.0).view(3, 2)
    assert passes(batch.check_batch, x, x + 1e-6)
    assert not passes(batch.check_batch, x, x + 1e-3)
    moved = x.clone()
    moved[2] += 1
    assert passes(batch.check_no_leak, x, moved, 2)
    moved[1] += 1e-6
    assert not passes(batch.check_no_leak, x, moved, 2)


@pytest.mark.pulled
@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_real_models(name: str, request: pytest.FixtureRequest) -> None:
    subject = subject_of(request.getfixturevalue(name), SENTENCE, layer=3)
    result = PADDING.run(subject, 8)
    assert float(dict(result.wrong.numbers)[DIFFERENCE]) > 0.05
    assert float(dict(result.right.numbers)[DIFFERENCE]) <= 1e-5
    result = LEAK.run(subject, 0)
    assert not result.wrong.passes
    assert result.right.passes
