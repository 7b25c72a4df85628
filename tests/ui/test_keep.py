"""What results are said to take in memory, and that interrupted work blocks nobody."""

import threading
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import attention_lab as lab
from attention_lab.analysis.heads import head_table
from attention_lab.analysis.similarity import similarity
from attention_lab.beam import beam_search
from attention_lab.generation import greedy
from attention_lab.ui.keep import RESULTS, TRACES, Store, n_bytes, trace_bytes
from tests.factories import tiny_model

TEXT = "the animal did not cross the street because it was too tired ."


@dataclass(frozen=True)
class Pair:
    first: object
    second: object


def test_the_bytes_of_a_result_are_about_those_it_takes() -> None:
    """Measured by Python itself: never much less, so that the bound holds."""
    model = tiny_model("encoder-decoder", n_layers=4)
    trace = lab.trace(model, TEXT, "the cat")
    makers: list[Callable[[], Any]] = [
        lambda: greedy(model, TEXT, 60),
        lambda: beam_search(model, TEXT, 4, 60),
        lambda: similarity(trace, "encoder.self"),
        lambda: Pair(np.zeros(50_000), {"a": [np.ones(5_000), "x" * 9_000]}),
        lambda: pd.DataFrame({"a": ["y" * 1_000] * 99, "b": range(99)}),
    ]
    for make in makers:
        make()  # what is imported or compiled at first use
        tracemalloc.start()
        kept = make()
        taken, _peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert n_bytes(kept) >= 0.7 * taken - 4_000
    assert n_bytes(head_table(trace)) > 0


def test_shared_parts_count_once_and_views_count_what_they_show() -> None:
    array = np.zeros(100_000)
    assert n_bytes((array, array, [array])) < 1.1 * array.nbytes
    assert n_bytes(array[:50_000]) >= 400_000


def test_a_trace_counts_its_tensors_and_more() -> None:
    trace = lab.trace(tiny_model(), TEXT)
    assert trace.nbytes < trace_bytes(trace) < trace.nbytes + 1_000_000


def test_the_stores_together_are_the_limit() -> None:
    assert TRACES.cache.maxsize + RESULTS.cache.maxsize == 512 * 2**20


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_who_waits_computes_when_the_first_is_interrupted(error: type[BaseException]) -> None:
    """As Streamlit interrupts a script: by a BaseException, in the middle of the work."""
    store, lock, calls = Store(10_000, n_bytes), threading.Barrier(8), list[int]()

    @store.kept
    def work(number: int) -> int:
        calls.append(number)
        if len(calls) < 4:
            raise error
        return number * 2

    def ask(_thread: int) -> object:
        lock.wait(30)
        try:
            return work(21)
        except error:
            return "interrupted"

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8), timeout=60))
    assert sorted(map(str, found)) == ["42"] * 5 + ["interrupted"] * 3
    assert len(calls) == 4


def test_what_is_larger_than_the_store_is_answered_and_not_kept() -> None:
    store = Store(1_000, n_bytes)

    @store.kept
    def work(size: int) -> np.ndarray:
        return np.zeros(size)

    assert work(10) is work(10)
    assert len(work(1_000)) == 1_000
    assert len(store.cache) == 1
    assert store.cache.currsize <= 1_000


def test_functions_that_share_a_store_do_not_meet() -> None:
    store = Store(10_000, n_bytes)

    @store.kept
    def one(number: int) -> str:
        return f"one {number}"

    @store.kept
    def other(number: int) -> str:
        return f"other {one(number)}"  # asks the same store while it computes

    assert (one(1), other(1), one(1), other(1)) == ("one 1", "other one 1", "one 1", "other one 1")
