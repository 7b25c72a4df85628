"""The gate of the forwards: order, bound, nobody lost, and everybody told the place."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab import generation
from attention_lab.beam import beam_search
from attention_lab.errors import BusyError
from attention_lab.generation import greedy
from attention_lab.tracing import gate as module
from attention_lab.tracing.gate import Gate, cores, telling
from tests.factories import tiny_model

SECONDS = 30


class LeftError(BaseException):
    """As Streamlit ends a run: no `Exception`, so that no page catches it."""


def until(condition: Callable[[], bool]) -> None:
    """Return once it holds."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.0)


@contextmanager
def taken(gate: Gate, places: int) -> Iterator[threading.Event]:
    """All places are held until the event that is yielded, or the end of the block."""
    leave, inside = threading.Event(), threading.Barrier(places + 1)

    def hold() -> None:
        with gate:
            inside.wait(SECONDS)
            leave.wait(SECONDS)

    with ThreadPoolExecutor(places) as pool:
        held = [pool.submit(hold) for _place in range(places)]
        inside.wait(SECONDS)
        try:
            yield leave
        finally:
            leave.set()
            for each in held:
                each.result(SECONDS)


def is_free(gate: Gate, places: int) -> bool:
    """Whether all its places are free: none was lost and none made up."""
    return gate._free == places and not gate.n_waiting


def test_first_come_first_served() -> None:
    gate, order = Gate(1, 100), []

    def work(number: int) -> None:
        with gate:
            order.append(number)

    with ThreadPoolExecutor(20) as pool:
        with taken(gate, 1):
            for number in range(20):
                pool.submit(work, number)
                until(lambda number=number: gate.n_waiting == number + 1)  # type: ignore[misc]
        until(lambda: len(order) == 20)
    assert order == list(range(20))


def test_no_more_at_once_than_places_and_all_get_their_turn() -> None:
    gate, lock, now, most = Gate(3, 1000), threading.Lock(), 0, 0

    def work(_number: int) -> None:
        nonlocal now, most
        with gate, gate:  # a forward within a forward's block
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.0005)
            with lock:
                now -= 1
            gate.give_way()

    with ThreadPoolExecutor(30) as pool:
        assert len(list(pool.map(work, range(400), timeout=SECONDS))) == 400
    assert most == 3
    assert is_free(gate, 3)


def test_a_full_queue_says_so_and_recovers() -> None:
    gate = Gate(1, 2)

    def work(_number: int) -> None:
        with gate:
            pass

    with ThreadPoolExecutor(3) as pool:
        with taken(gate, 1):
            waiting = [pool.submit(work, number) for number in range(2)]
            until(lambda: gate.n_waiting == 2)
            with pytest.raises(BusyError, match="2 requests are waiting already"), gate:
                pass
            assert gate.n_waiting == 2
        for each in waiting:
            each.result(SECONDS)
        pool.submit(work, 2).result(SECONDS)
    assert is_free(gate, 1)


def test_who_waits_is_told_each_place_once_in_falling_order() -> None:
    gate, told = Gate(1, 100), {number: list[int]() for number in range(8)}

    def work(number: int) -> None:
        with telling(told[number].append), gate:
            until(lambda: all(places for places in told.values()))

    with ThreadPoolExecutor(8) as pool, taken(gate, 1):
        for number in range(8):
            pool.submit(work, number)
            until(lambda number=number: gate.n_waiting == number + 1)  # type: ignore[misc]
        until(lambda: all(told[number][:1] == [number + 1] for number in told))
    for number, places in told.items():
        assert places[0] == number + 1
        assert places[-1] == 0
        assert places == sorted(set(places), reverse=True)


def test_without_a_wait_nobody_is_told_anything() -> None:
    told: list[int] = []
    with telling(told.append), Gate(1, 1):
        pass
    assert not told


def test_nobody_is_told_more_often_than_once_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 3600.0)
    gate, told = Gate(1, 10), list[int]()

    def work() -> None:
        with telling(told.append), gate:
            pass

    with ThreadPoolExecutor(4) as pool, taken(gate, 1):
        for _number in range(4):
            pool.submit(work)
        until(lambda: gate.n_waiting == 4)
    assert told == [0, 0, 0, 0]


@settings(max_examples=30)
@given(
    places=st.integers(1, 3),
    leaves=st.lists(st.sampled_from(["stay", "told", "turn", "inside"]), min_size=1, max_size=12),
)
def test_whoever_leaves_gives_the_place_up(places: int, leaves: list[str]) -> None:
    """While waiting, just at the turn, or in the middle of a forward; the others get their turn."""
    gate, ran = Gate(places, 100), list[int]()

    def work(number: int, how: str) -> None:
        def listener(place: int) -> None:
            if how == "told" or (how == "turn" and not place):
                raise LeftError

        with telling(listener), gate:
            if how == "inside":
                raise LeftError
            ran.append(number)

    with ThreadPoolExecutor(len(leaves)) as pool:
        with taken(gate, places):
            futures = [pool.submit(work, *each) for each in enumerate(leaves)]
            waiting = sum(how != "told" for how in leaves)
            until(
                lambda: (
                    gate.n_waiting == waiting
                    and sum(future.done() for future in futures) == len(leaves) - waiting
                )
            )
        ended = [future.exception(SECONDS) for future in futures]
    assert [error is None for error in ended] == [how == "stay" for how in leaves]
    assert all(error is None or isinstance(error, LeftError) for error in ended)
    assert sorted(ran) == [number for number, how in enumerate(leaves) if how == "stay"]
    assert is_free(gate, places)


def test_long_work_lets_others_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TURN", 0.0)
    gate, order = Gate(1, 10), []

    def short() -> None:
        with gate:
            order.append("short")

    with ThreadPoolExecutor(1) as pool, gate:
        gate.give_way()  # nobody waits: it goes on
        pool.submit(short)
        until(lambda: gate.n_waiting == 1)
        order.append("long")
        gate.give_way()
        order.append("long")
    assert order == ["long", "short", "long"]


def test_who_gives_way_is_not_sent_away_and_can_still_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "TURN", 0.0)
    gate, ran = Gate(1, 1), list[str]()

    def other() -> None:
        with gate:
            ran.append("other")

    def leave(place: int) -> None:
        raise LeftError

    def long(pool: ThreadPoolExecutor) -> None:
        with telling(leave), gate:
            pool.submit(other)
            until(lambda: gate.n_waiting == 1)  # full
            gate.give_way()
            ran.append("not reached")

    with ThreadPoolExecutor(1) as pool, pytest.raises(LeftError):
        long(pool)
    assert ran == ["other"]
    assert is_free(gate, 1)


@pytest.mark.parametrize("search", [greedy, beam_search])
def test_generation_gives_way_between_its_steps(
    search: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole is one turn, which goes round: with a wait of its own for each step it would take
    as many turns of everybody else as it has steps."""
    gate, given = Gate(1, 10), 0

    def give_way() -> None:
        nonlocal given
        given += 1

    monkeypatch.setattr(gate, "give_way", give_way)
    for place in ("attention_lab.beam.gate", "attention_lab.generation.gate"):
        monkeypatch.setattr(place, lambda: gate)
    model = tiny_model("encoder-decoder")
    search(model, "the cat sat", max_new_tokens=5)
    assert generation.gate() is gate
    assert 1 <= given <= 5
    assert is_free(gate, 1)


def test_cores_of_a_container_count(tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    machine = cores(quota)
    quota.write_text("100000 100000\n")
    assert cores(quota) == 1
    quota.write_text("50000 100000\n")
    assert cores(quota) == 1
    quota.write_text("max 100000\n")
    assert cores(quota) == machine


def test_without_place_somebody_else_has_it_until_the_block_ends() -> None:
    gate = Gate(1, 0)

    def others_may_enter() -> bool:
        with ThreadPoolExecutor(1) as pool:
            try:
                pool.submit(lambda: gate.__enter__().__exit__(None, None, None)).result(SECONDS)
            except BusyError:
                return False
        return True

    with gate.without_place():  # nothing is held, so nothing is given away
        assert others_may_enter()
    with gate, gate:
        assert not others_may_enter()
        with gate.without_place():
            assert others_may_enter()
        with pytest.raises(ValueError, match="inside"), gate.without_place():
            raise ValueError("inside")
        assert not others_may_enter()  # held again, also after the error
    assert others_may_enter()


def test_beside_the_others_one_enters_without_a_place_and_gives_none_back() -> None:
    gate = Gate(1, 0)
    with taken(gate, 1):
        with gate.beside(), gate:
            gate.give_way()
        with pytest.raises(BusyError), gate:
            pass
    assert is_free(gate, 1)


def test_after_a_block_without_its_place_one_is_the_next() -> None:
    gate, away, order = Gate(1, 10), threading.Event(), list[str]()

    def back() -> None:
        with gate:
            with gate.without_place():
                away.set()
                until(lambda: gate.n_waiting == 1)
            order.append("back")

    def new() -> None:
        with gate:
            order.append("new")

    with ThreadPoolExecutor(2) as pool:
        returning = pool.submit(back)
        assert away.wait(SECONDS)
        with gate:
            pool.submit(new)
            until(lambda: gate.n_waiting == 2)
        returning.result(SECONDS)
    assert order == ["back", "new"]
