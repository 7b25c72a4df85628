"""All exhibits on all kinds of models and sentences: they run, and say what they promise."""

import math

import numpy as np
import pytest
import torch

from attention_lab.clinic.catalogue import exhibits
from attention_lab.clinic.exhibit import Exhibit, Matrix, passes, source, spread, written
from attention_lab.clinic.subject import MOST, Subject
from attention_lab.errors import InputError
from attention_lab.zoo.loaded import Model
from tests.clinic.conftest import MODELS, subject_of

EXHIBITS = exhibits()
# What the issue asks for.
EXPECTED = {
    *("scale", "axis", "heads", "view", "divide", "polarity", "late", "closed"),
    *("padding", "leak", "residual", "norm", "half", "dropout"),
}


def value_of(exhibit: Exhibit, subject: Subject) -> int:
    return exhibit.setting(subject).default if exhibit.setting else 0


def test_every_classic_bug_is_there() -> None:
    assert set(EXHIBITS) == EXPECTED


@pytest.mark.parametrize("key", EXHIBITS)
def test_the_check_catches_the_wrong_way_and_accepts_the_right_one(
    key: str, subject: Subject
) -> None:
    exhibit = EXHIBITS[key]
    result = exhibit.run(subject, value_of(exhibit, subject))
    assert not result.wrong.passes
    assert result.right.passes
    assert result.wrong.code != result.right.code
    for side in (result.wrong, result.right):
        assert side.numbers
        rows, columns = side.matrix.values.shape
        assert (len(side.matrix.rows), len(side.matrix.columns)) == (rows, columns)
    if key not in ("heads", "divide"):  # these name different shapes
        assert dict(result.right.numbers).keys() <= dict(result.wrong.numbers).keys()
    assert result.right.matrix.n_nan == result.right.matrix.n_infinite == 0


@pytest.mark.parametrize("key", EXHIBITS)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("text", ["a", "猫 zzz 😀", "the cat " * 60])
def test_any_sentence(key: str, model: Model, text: str) -> None:
    subject = subject_of(model, text)
    exhibit = EXHIBITS[key]
    result = exhibit.run(subject, value_of(exhibit, subject))
    assert result.right.passes


@pytest.mark.parametrize("key", [key for key, exhibit in EXHIBITS.items() if exhibit.setting])
def test_the_ends_of_every_setting(key: str, subject: Subject) -> None:
    exhibit = EXHIBITS[key]
    assert exhibit.setting is not None
    setting = exhibit.setting(subject)
    assert setting.default in setting.options
    assert list(setting.options) == sorted(set(setting.options))
    for value in (setting.options[0], setting.options[-1]):
        assert exhibit.run(subject, value).right.passes


@pytest.mark.parametrize("exhibit", EXHIBITS.values(), ids=EXHIBITS.keys())
def test_texts_are_whole_sentences(exhibit: Exhibit) -> None:
    assert exhibit.story.endswith(".")
    assert exhibit.cure.endswith(".")
    assert not exhibit.title.endswith(".")


def test_the_code_on_the_page_is_the_code_that_ran() -> None:
    exhibit = EXHIBITS["axis"]
    result = exhibit.run(subject_of(MODELS["encoder"]), 0)
    assert "scores.softmax(dim=-2)" in result.wrong.code
    assert "scores.softmax(dim=-1)" in result.right.code
    assert "assert torch.allclose" in source(exhibit.check)


def test_a_long_sentence_is_cut_and_the_rest_counted() -> None:
    subject = subject_of(MODELS["decoder"], "the cat " * 40)
    assert (subject.n, subject.left_out) == (MOST, 80 - MOST)
    assert subject.q.shape[1] == subject.scores.shape[0] == len(subject.labels) == MOST
    with torch.inference_mode():
        cut = subject.forward(subject.ids)[0]
    np.testing.assert_allclose(cut.numpy(), subject.trace.hidden[:MOST], atol=1e-5)  # causal


@pytest.mark.parametrize(("layer", "head"), [(0, 9), (7, 0), (0, -1)])
def test_a_place_that_there_is_not(layer: int, head: int) -> None:
    with pytest.raises(InputError):
        subject_of(MODELS["encoder"], layer=layer, head=head)


def test_only_assertions_count_as_a_failed_check() -> None:
    def broken() -> None:
        raise KeyError("no check")

    with pytest.raises(KeyError):
        passes(broken)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (math.nan, "NaN"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (0.25, "0.250"),
        (-0.25, "−0.250"),
        (1234.5, "1,234.5"),
        (0.00002, "2.0e-05"),
        (-1e9, "−1.0e+09"),
    ],
)
def test_numbers_as_they_are_written(value: float, text: str) -> None:
    assert written(value) == text


def test_the_spread_of_numbers() -> None:
    assert spread(torch.tensor([0.5, 0.25])) == "0.250 to 0.500"
    assert spread(torch.tensor([1.0, 1.0 + 1e-6])) == "1.000"
    assert spread(torch.tensor([math.nan, 1.0])) == "NaN"


def test_cells_that_are_no_numbers_are_counted() -> None:
    values = np.array([[0.5, np.nan, np.inf], [-2.0, -np.inf, np.nan]])
    closed = np.array([[False, False, False], [False, False, True]])
    matrix = Matrix(values, ("a", "b"), ("x", "y", "z"), ("r", "c", "v"), "signed", closed)
    assert (matrix.n_nan, matrix.n_infinite, matrix.largest) == (1, 2, 2.0)
