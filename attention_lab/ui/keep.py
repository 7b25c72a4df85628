"""What the pages keep for all sessions: computed once for equal arguments, bounded in bytes."""

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd
from cachetools import Cache, LRUCache, cached
from cachetools.keys import hashkey

from attention_lab.config import Limits
from attention_lab.tracing.trace import Trace

if TYPE_CHECKING:
    from cachetools import _cached_wrapper

P = ParamSpec("P")
R = TypeVar("R")

FIELD = 32  # bytes of an attribute besides its value
TENSOR = 2_000  # bytes of a tensor besides its numbers: its Python objects and its place in a dict


def trace_bytes(trace: Trace) -> int:
    """What a kept trace takes in memory; the model is shared and counts nowhere here."""
    tokens = len(trace.tokens) + len(trace.target_tokens or ())
    return trace.nbytes + TENSOR * (len(trace.captured) + len(trace.sites) + tokens)


def n_bytes(value: object, seen: set[int] | None = None) -> int:
    """What a result of numbers, texts, arrays and tables takes; each of its parts counts once."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return sys.getsizeof(value) + (0 if value.base is None else value.nbytes)
    if isinstance(value, pd.DataFrame):
        return int(value.memory_usage(deep=True).sum())
    size = sys.getsizeof(value)
    if is_dataclass(value):
        parts = [getattr(value, field.name) for field in fields(value)]
        return size + FIELD * len(parts) + sum(n_bytes(part, seen) for part in parts)
    if isinstance(value, Mapping):
        return size + sum(n_bytes(part, seen) for pair in value.items() for part in pair)
    if isinstance(value, tuple | list | set | frozenset):
        return size + sum(n_bytes(part, seen) for part in value)
    return size


class Store:
    """A cache for several functions: all sessions together, at most `most` bytes."""

    def __init__(self, most: int, size: Callable[[Any], int]) -> None:
        self.cache: Cache[Any, Any] = LRUCache(most, getsizeof=size)
        self._lock = threading.RLock()

    def kept(
        self, function: Callable[P, R], key: Callable[..., Any] = hashkey
    ) -> "_cached_wrapper[P, R]":
        """A decorator: keep what `function` returns by all its arguments, or by their `key`.

        Of many threads that ask for the same at the same time one computes and the others wait. If
        it is interrupted or raises, the next one computes. What is larger than the whole store is
        returned and not kept.
        """
        name = f"{function.__module__}.{function.__qualname__}"
        return cached(
            self.cache,
            key=lambda *args, **options: (name, key(*args, **options)),
            condition=threading.Condition(self._lock),  # wakes only who waits for this function
        )(function)


_BYTES = Limits.from_environment().cache_bytes
# Two, so that many large traces do not drive out what took long to compute and needs little room.
TRACES = Store(_BYTES - _BYTES // 8, trace_bytes)
RESULTS = Store(_BYTES // 8, n_bytes)
MODELS = Store(4, lambda model: 1)  # so many, whatever they take: there are three
