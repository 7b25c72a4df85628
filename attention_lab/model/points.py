"""Named points that every captured tensor passes through, and how a run listens at them.

A point is an identity module. Who is listening is known to the context (a thread, a session), not
to the model: many runs share one model and never meet, with no lock and nothing to clean up.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from torch import Tensor, nn


@runtime_checkable
class Observer(Protocol):
    """Sees each tensor at its point and says what the model goes on with."""

    def visit(self, name: str, tensor: Tensor) -> Tensor:
        """Return `tensor` itself, or what takes its place."""


_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Within this block, in this context only, `observer` visits every point of every model."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def is_observed() -> bool:
    """Whether somebody is listening in this context."""
    return _observer.get() is not None


class Point(nn.Module):
    """The identity, under a name such as "encoder.3.self.weights"."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, tensor: Tensor) -> Tensor:
        """Return `tensor`, or what the context's observer puts in its place."""
        observer = _observer.get()
        return tensor if observer is None else observer.visit(self.name, tensor)
