"""Who observes is known to the context, and gone with it."""

import contextvars
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch
from torch import Tensor

from attention_lab.model.points import Point, is_observed, observing
from tests.factories import Recorder

X = torch.arange(3.0)


class Doubler:
    def visit(self, name: str, tensor: Tensor) -> Tensor:
        return tensor * 2


class Failing:
    def visit(self, name: str, tensor: Tensor) -> Tensor:
        raise ArithmeticError(name)


def test_without_an_observer_a_point_is_the_identity() -> None:
    assert Point("here")(X) is X
    assert not is_observed()


def test_an_observer_sees_the_tensor_under_the_points_name() -> None:
    recorder = Recorder()
    with observing(recorder):
        assert is_observed()
        assert Point("here")(X) is X
    Point("later")(X)
    assert list(recorder) == ["here"]
    assert recorder["here"] is X


def test_what_an_observer_returns_is_what_goes_on() -> None:
    with observing(Doubler()):
        assert Point("here")(X).tolist() == [0, 2, 4]


def test_the_inner_observer_stands_in_for_the_outer_one() -> None:
    outer, inner = Recorder(), Recorder()
    with observing(outer):
        with observing(inner):
            Point("inside")(X)
        Point("outside")(X)
    assert (list(outer), list(inner)) == (["outside"], ["inside"])


def test_an_exception_leaves_no_observer() -> None:
    with pytest.raises(ArithmeticError, match="here"), observing(Failing()):
        Point("here")(X)
    assert not is_observed()
    assert Point("here")(X) is X


def test_two_contexts_do_not_see_each_other() -> None:
    point, recorder = Point("here"), Recorder()
    other = contextvars.copy_context()
    with observing(recorder):
        assert not other.run(is_observed)
        other.run(point, X)
    assert not recorder


def test_two_threads_do_not_see_each_other() -> None:
    """Both are inside `observing` at the same time, and each sees its own tensor."""
    point, both_inside = Point("here"), Barrier(2)

    def run(value: float) -> Recorder:
        recorder = Recorder()
        with observing(recorder):
            both_inside.wait(timeout=10)
            point(torch.tensor(value))
            both_inside.wait(timeout=10)
        return recorder

    with ThreadPoolExecutor(2) as pool:
        recorders = list(pool.map(run, [1.0, 2.0]))
    assert [float(recorder["here"]) for recorder in recorders] == [1.0, 2.0]
