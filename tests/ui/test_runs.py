"""The cache of runs: one for all sessions, keyed by all that a run depends on, bounded in bytes."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import attention_lab as lab
from attention_lab.errors import LabError
from attention_lab.ui import runs
from attention_lab.ui.cells import Cell
from attention_lab.ui.keep import trace_bytes
from attention_lab.ui.runs import Request, run
from tests.ui.conftest import MODELS

TEXTS = ("the cat sat", "a dog was too tired", "猫 追 老 鼠", "the mat", "it did not cross")


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[Any, ...]]:
    """How often each text was really traced."""
    count: Counter[tuple[Any, ...]] = Counter()
    lock = threading.Lock()

    def slow(model: Any, text: str, target: Any, mask: Any, edits: Any, *rest: Any) -> Any:
        with lock:
            count[model.name, text, mask, tuple(edits)] += 1
        time.sleep(0.05)
        return lab.trace(model, text, target, mask, edits, *rest)

    monkeypatch.setattr(runs, "trace", slow)
    return count


def test_equal_requests_at_once_are_computed_once(traced: Counter[Any]) -> None:
    together = threading.Barrier(12)

    def ask(number: int) -> Any:
        together.wait()
        return run(Request("minilm", TEXTS[number % 2], mask="causal"))

    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(ask, range(12)))
    assert sorted(traced.values()) == [1, 1]
    assert len({id(trace) for trace in found}) == 2
    assert [trace.tokens.text for trace in found] == [TEXTS[i % 2] for i in range(12)]


def test_many_people_at_once_never_mix() -> None:
    """Different texts, masks and edits from eight threads: each gets its own, bit for bit."""
    requests = [
        Request(model, text, mask=mask, off=off)
        for model in MODELS
        for text in TEXTS
        for mask, off in ((None, ()), ("causal", ()), ("window:1", ()))
    ]
    requests += [Request("minilm", text, off=("encoder.1.self:2",)) for text in TEXTS]

    def weights(trace: Any) -> Any:
        return [trace[site].weights.copy() for site in trace.sites]

    expected = []
    for request in requests:
        edits = [lab.ablate("encoder.1.self", head=2)] if request.off else []
        model = MODELS[request.model]
        expected.append(weights(lab.trace(model, request.text, mask=request.mask, edits=edits)))
    order = np.random.default_rng(0).permutation(len(requests) * 2) % len(requests)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: weights(run(requests[i])), order))
    for index, arrays in zip(order, found, strict=True):
        for mine, theirs in zip(arrays, expected[index], strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_every_field_of_a_request_is_part_of_the_key() -> None:
    base = Request("minilm", "the cat")
    changes: dict[str, Any] = {
        "model": "smollm2",
        "text": "a dog",
        "target": "a",
        "target_ids": (1,),
        "mask": "none",
        "off": ("encoder.0.self",),
        "cells": (Cell("encoder.self", 1, 2),),
        "position": "none",
        "start": 3,
        "order": (1, 0),
    }
    assert set(changes) == {field.name for field in fields(Request)}
    keys = {run.cache_key(replace(base, **{name: value})) for name, value in changes.items()}
    assert len(keys | {run.cache_key(base)}) == len(changes) + 1


def test_the_cache_is_bounded_in_bytes(
    traced: Counter[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = trace_bytes(run(Request("minilm", TEXTS[0])))
    monkeypatch.setattr(run.cache, "_Cache__maxsize", 3 * size)
    for text in (*TEXTS, *TEXTS):
        run(Request("minilm", text))
        assert run.cache.currsize <= 3 * size
        assert run.cache.currsize == sum(map(trace_bytes, run.cache.values()))
    assert sum(traced.values()) > len(TEXTS)  # what fell out is computed again


def test_a_run_larger_than_the_cache_is_still_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run.cache, "_Cache__maxsize", 10)
    assert run(Request("minilm", "the cat")).tokens.text == "the cat"
    assert len(run.cache) == 0


def test_an_error_is_everybody_s_and_blocks_nobody(traced: Counter[Any]) -> None:
    wrong = Request("minilm", "the cat", off=("encoder.99.self",))

    def ask(_number: int) -> str:
        with pytest.raises(LabError) as caught:
            run(wrong)
        return str(caught.value)

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(ask, range(4)))) == 1
    assert run(Request("minilm", "the cat")).tokens.text == "the cat"


def test_a_model_is_loaded_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    real = lab.load

    def slow(name: str) -> Any:
        loads.append(name)
        time.sleep(0.1)
        return real(name)

    monkeypatch.setattr(runs.zoo, "load", slow)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda text: run(Request("smollm2", text)), [*TEXTS, "the dog"]))
    assert loads == ["smollm2"]
    assert len({id(trace.model) for trace in found}) == 1


def test_a_limit_of_the_server_holds_for_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_LAB_TOKENS", "8")
    trace = run(Request("minilm", "the cat sat on the mat and on the street"))
    assert len(trace.tokens) == 8
    assert trace.tokens.left_out == 4
