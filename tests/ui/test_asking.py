"""How pages ask: overload in words, a way back by itself, the place in the queue on the page."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import streamlit as st

from attention_lab.errors import BusyError
from attention_lab.tracing.gate import Gate, telling
from attention_lab.ui import asking, runs
from attention_lab.ui.runs import Request, run
from tests.ui.conftest import MODELS
from tests.ui.helpers import Explore


@contextmanager
def held(gate: Gate) -> Iterator[None]:
    """The gate is held by another thread."""
    leave, inside = threading.Event(), threading.Event()

    def hold() -> None:
        with gate:
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(60)
    try:
        yield
    finally:
        leave.set()
        thread.join()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """All runs are long, and there is one place for them and no room to wait."""
    gate = Gate(1, 0)
    monkeypatch.setattr("attention_lab.tracing.run.gate", lambda: gate)
    monkeypatch.setattr(asking, "is_short", lambda request: False)
    return gate


def test_a_full_queue_is_told_in_words_and_the_page_comes_back(gate: Gate) -> None:
    with held(gate):
        page = Explore({"text": "the cat"})
        (warning,) = page.app.warning
        assert "0 requests are waiting already" in warning.value
        assert not page.charts
        assert any("tries again by itself" in caption.value for caption in page.app.caption)
        page.click("Try again now")  # still full: the same sentence, and no traceback
        assert len(page.app.warning) == 1
    page.click("Try again now")
    assert not page.app.warning
    assert len(page.charts) == 2


def test_a_picture_that_is_kept_needs_no_turn(gate: Gate) -> None:
    page = Explore({"text": "the cat"})
    with held(gate):
        page.set(head=3, stage="scores")
    assert not page.app.warning
    assert len(page.charts) == 2


def test_the_place_is_shown_while_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    @contextmanager
    def spinner(text: str, show_time: bool) -> Iterator[None]:
        shown.append(text)
        yield
        shown.append("-")

    monkeypatch.setattr(st, "spinner", spinner)
    listeners: list[Any] = []
    monkeypatch.setattr(asking, "telling", lambda tell: listeners.append(tell) or telling(tell))
    with asking.waiting("Reading"):
        for place in (3, 1, 0):
            listeners[0](place)
    assert shown[::2] == [
        "Reading",
        "Many people are using the model. There are 2 requests before yours.",
        "Many people are using the model. Your request is the next one.",
        "Reading",
    ]
    assert set(shown[1::2]) == {"-"}


def test_what_is_kept_shows_no_spinner(monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request("minilm", "the cat")
    trace = run(request)

    def spinner(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(asking, "is_short", lambda request: False)
    monkeypatch.setattr(st, "spinner", spinner)
    assert asking.trace_of(request) is trace
    with pytest.raises(AssertionError):
        asking.trace_of(Request("minilm", "the dog"))


def test_who_waits_for_the_same_goes_on_when_the_first_is_sent_away(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of two equal requests finds the queue full; the second computes it itself."""
    request, found = Request("minilm", "the cat"), list[Any]()
    second = threading.Thread(target=lambda: found.append(run(request)))
    enter = Gate.__enter__

    def slow(self: Gate) -> Gate:
        if threading.current_thread() is not second:
            second.start()
            raise BusyError("Full.")
        return enter(self)

    monkeypatch.setattr(Gate, "__enter__", slow)
    with pytest.raises(BusyError):
        run(request)
    second.join(60)
    assert found == [run(request)]


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """One page at a time, and no room to wait."""
    pages = Gate(1, 0)
    monkeypatch.setattr(asking, "_pages", lambda: pages)
    return pages


def test_pages_have_their_turn_one_after_the_other(pages: Gate) -> None:
    with held(pages):
        page = Explore({"text": "the cat"})
        assert "0 requests are waiting already" in page.app.warning[0].value
        assert not page.charts
    page.click("Try again now")
    assert len(page.charts) == 2
    with pages:  # given back, though main and fragment are one inside the other
        pass


def test_a_page_that_ends_with_a_sentence_gives_its_turn_back(pages: Gate) -> None:
    assert Explore({"text": "the " * 3_000}).app.error
    with held(pages):  # another thread gets it at once
        pass


def test_a_download_leaves_the_turn_to_others(pages: Gate) -> None:
    with asking._turn():
        with asking.outside(), held(pages):
            pass
        with pytest.raises(BusyError), ThreadPoolExecutor(1) as other:
            other.submit(pages.__enter__).result(60)  # and it is held again


def test_a_long_run_leaves_the_turn_to_others(pages: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    forwards, request = Gate(1, 1), Request("minilm", "the cat")
    monkeypatch.setattr("attention_lab.tracing.run.gate", lambda: forwards)
    monkeypatch.setattr(asking, "is_short", lambda request: False)
    monkeypatch.setattr(st, "spinner", lambda *_, **__: nullcontext())

    def page() -> None:
        with asking._turn():
            asking.trace_of(request)
            with pytest.raises(BusyError), ThreadPoolExecutor(1) as other:
                other.submit(pages.__enter__).result(60)  # what is read is drawn in its own turn

    with ThreadPoolExecutor(1) as thread:
        with held(forwards):
            reading = thread.submit(page)
            while not forwards.n_waiting:
                time.sleep(0.01)
            with pages:  # it is free, or this would be refused: there is no room to wait
                pass
        reading.result(60)


def test_a_short_run_keeps_the_turn_and_waits_for_no_long_one(
    pages: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    forwards = Gate(1, 0)
    for place in ("attention_lab.tracing.run.gate", "attention_lab.ui.asking.gate"):
        monkeypatch.setattr(place, lambda: forwards)
    monkeypatch.setattr(asking, "outside", None)  # it is not called
    with held(forwards), asking._turn():
        assert len(asking.trace_of(Request("minilm", "the cat")).tokens) == 4


@pytest.mark.parametrize(
    ("text", "target", "short"),
    [("the cat", None, True), ("the cat " * 60, None, False), ("the cat", "the " * 120, False)],
)
def test_a_run_is_short_of_a_small_model_on_a_few_sentences(
    text: str, target: str | None, short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request("minilm", text, target)
    assert runs.is_short(request) == short
    monkeypatch.setattr(runs, "SMALL", MODELS["minilm"].n_parameters - 1)
    assert not runs.is_short(request)
