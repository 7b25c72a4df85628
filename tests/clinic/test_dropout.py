"""Dropout left on in evaluation: both sides."""

import numpy as np
import torch

from attention_lab.clinic import dropout
from attention_lab.clinic.exhibit import passes
from attention_lab.clinic.subject import Subject

(DROPOUT,) = dropout.exhibits()


def test_dropout_drops_and_enlarges() -> None:
    weights = torch.full((200, 200), 0.6)
    dropped = dropout.dropout(weights, 0.5, seed=1)
    assert set(dropped.unique().tolist()) == {
        0.0,
        1.2000000476837158,
    }  # above 1: no weight any more
    assert abs(float((dropped == 0).float().mean()) - 0.5) < 0.02
    assert abs(float(dropped.mean()) - 0.6) < 0.02  # right on average, wrong every time


def test_two_runs_differ_only_with_dropout(random: torch.Generator) -> None:
    scores = torch.randn(6, 6, generator=random)
    first, second = (dropout.still_training(scores, 0.3, seed) for seed in (1, 2))
    assert not torch.equal(first, second)
    first, second = (dropout.evaluating(scores, 0.3, seed) for seed in (1, 2))
    assert torch.equal(first, second)
    assert torch.equal(first, scores.softmax(-1))


def test_nothing_of_it_touches_the_process_random_numbers() -> None:
    before = torch.get_rng_state()
    dropout.still_training(torch.zeros(4, 4), 0.5, 1)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_check_tells_them_apart() -> None:
    assert not passes(dropout.check_evaluation, dropout.still_training)
    assert passes(dropout.check_evaluation, dropout.evaluating)


def test_the_exhibit(subject: Subject) -> None:
    result = DROPOUT.run(subject, 50)
    own = subject.site.weights[subject.head]
    np.testing.assert_allclose(result.right.matrix.values, own, atol=1e-6)
    wrong = result.wrong.matrix.values
    kept = wrong > 0
    np.testing.assert_allclose(wrong[kept], 2 * own[kept], atol=1e-6)
    assert np.abs(wrong.sum(axis=1) - 1).max() > 0.2
    name = "Two runs: largest difference of the output"
    assert dict(result.right.numbers)[name] == "0"
    assert float(dict(result.wrong.numbers)[name]) > 0
