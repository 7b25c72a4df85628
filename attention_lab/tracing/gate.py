"""How many forwards run at once, and the queue of those that wait: bounded, in order."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from types import TracebackType

import torch

from attention_lab.config import Limits
from attention_lab.errors import BusyError
from attention_lab.i18n import _

PAUSE = 0.5  # seconds between two messages about somebody's place, and before the first one
TURN = 0.1  # seconds after which work of many steps lets those who wait go first

Listener = Callable[[int], None]  # is given the place: 1 is next, 0 has its turn after a wait
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def telling(listener: Listener) -> Iterator[None]:
    """Within this block, in this context, whoever waits at a gate tells `listener` its place.

    The waiting thread itself calls it. What it raises ends the wait and gives the place up, so a
    page that has been left or changed meanwhile holds up nobody.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class _Ticket:
    """Somebody who waits. All fields belong to the gate's lock."""

    def __init__(self, lock: threading.Lock) -> None:
        self.changed = threading.Condition(lock)
        self.has_turn = False
        self.is_told = False  # its listener knows its place, and is to hear of the next one


class _Own(threading.local):
    """What one thread holds."""

    depth = 0  # blocks it is in
    holds = False
    since = 0.0


class Gate:
    """A context manager that at most `places` threads hold; at most `queue` others wait, in order.

    A thread that holds it may enter again. Raises `BusyError` when the queue is full.
    """

    def __init__(self, places: int, queue: int) -> None:
        self._lock = threading.Lock()
        self._free = places
        self._most = queue
        self._waiting: deque[_Ticket] = deque()  # empty while a place is free
        self._own = _Own()

    def __enter__(self) -> "Gate":
        if not self._own.depth:
            self._take(self._most)
        self._own.depth += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._own.depth -= 1
        if not self._own.depth and self._own.holds:
            self._give_back()

    def give_way(self) -> None:
        """Between the steps of long work: after `TURN` seconds go to the end of the queue.

        A translation of 60 steps so holds nobody up for long, and does not queue 60 times either.
        """
        if self._own.holds and self._waiting and time.monotonic() - self._own.since >= TURN:
            self._give_back()
            self._take(None)  # it was let in already and is not sent away for a full queue

    @contextmanager
    def without_place(self) -> Iterator[None]:
        """Within this block somebody else has the place, if this thread holds one.

        After it this thread is the next one: it has waited for its turn already.
        """
        holds = self._own.holds
        if holds:
            self._give_back()
        try:
            yield
        finally:
            if holds:
                self._take(None, first=True)

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Within this block this thread enters without a place and never waits.

        For what is over at once, and only where the caller lets one such thread in at a time.
        """
        self._own.depth += 1
        try:
            yield
        finally:
            self._own.depth -= 1

    @property
    def n_waiting(self) -> int:
        """How many wait now."""
        return len(self._waiting)

    def _take(self, most: int | None, first: bool = False) -> None:
        with self._lock:
            ticket = self._line_up(most, first)
        if ticket is not None:
            self._wait(ticket)
        self._own.holds, self._own.since = True, time.monotonic()

    def _line_up(self, most: int | None, first: bool) -> _Ticket | None:
        """None: there is a free place, and it is taken."""
        if self._free:
            self._free -= 1
            return None
        if most is not None and len(self._waiting) >= most:
            message = _("{n} requests are waiting already, the most allowed here; try again soon.")
            raise BusyError(message.format(n=most))
        ticket = _Ticket(self._lock)
        self._waiting.insert(0 if first else len(self._waiting), ticket)
        return ticket

    def _wait(self, ticket: _Ticket) -> None:
        """Until it has its turn, which it hands on if anything is raised here."""
        listener, place, done = _listener.get(), -1, False
        try:
            while place:
                place = self._next_place(ticket, place, listener is not None)
                if listener is not None:
                    listener(place)
            done = True
        finally:
            if not done:
                self._leave(ticket)

    def _next_place(self, ticket: _Ticket, told: int, tells: bool) -> int:
        """Wait for another place than the one that was told, or without a listener for the turn."""
        earliest = time.monotonic() + PAUSE
        with self._lock:
            while not ticket.has_turn:
                place = self._waiting.index(ticket) + 1
                left = earliest - time.monotonic()
                if tells and place != told and left <= 0:
                    return place
                ticket.is_told = tells and place == told
                ticket.changed.wait(left if tells and place != told else None)
        return 0

    def _leave(self, ticket: _Ticket) -> None:
        with self._lock:
            if not ticket.has_turn:
                self._waiting.remove(ticket)
                self._tell()
                return
        self._give_back()

    def _give_back(self) -> None:
        self._own.holds = False
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            ticket = self._waiting.popleft()
            ticket.has_turn = True
            ticket.changed.notify()
            self._tell()

    def _tell(self) -> None:
        """Wake those whose place has changed; the others wake up by themselves, or have no need."""
        for ticket in self._waiting:
            if ticket.is_told:
                ticket.is_told = False
                ticket.changed.notify()


@lru_cache(maxsize=1)
def gate() -> Gate:
    """The gate of all forwards: as many at once as there are cores for their threads.

    More would wait for each other's threads in the middle of each operation, at many times the
    cost. Made at first use, when the program has chosen `torch.set_num_threads`.
    """
    return Gate(max(1, cores() // torch.get_num_threads()), Limits.from_environment().queue)


def cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """The cores this process may use: those of the machine, or fewer in a container with a limit.

    `quota` holds "MICROSECONDS PERIOD", or "max PERIOD" without a limit; elsewhere it is absent.
    """
    n = os.cpu_count() or 1
    try:
        allowed, period = quota.read_text().split()
        return max(1, min(n, int(allowed) // int(period)))
    except (OSError, ValueError):
        return n
