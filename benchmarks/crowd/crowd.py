"""Many people at once on one address, and what the server uses meanwhile."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from attention_lab.zoo import store
from benchmarks.crowd.answers import MODELS, Answer
from benchmarks.crowd.person import HABITS, Person, Room
from benchmarks.crowd.server import Server, Use, use_of

EVERY = 5.0  # seconds between two looks at memory
ARRIVAL = 0.2  # of the first seconds of a run, at most 30, people arrive one after another
GRACE = 5.0  # seconds that people stay at least after the last fault


@dataclass
class Crowd:
    """People on `address`; `server` is the one behind it where this process has started it."""

    address: str
    think: float = 10.0
    server: Server | None = None
    pids: Sequence[int] = ()  # of servers that somebody else started
    habits: dict[str, int] = field(default_factory=lambda: dict(HABITS))
    texts: Iterator[int] = field(default_factory=count)
    start: float = field(default_factory=time.monotonic)
    is_bare: bool = False
    end: float = 0.0  # when people leave, on the monotonic clock
    people: list[Person] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    driver: float = 0.0  # seconds of a core that this process has used while people were there

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    def use(self) -> Use:
        """What the server uses now."""
        pids = list(self.pids)
        if self.server and self.server.process:
            pids.append(self.server.process.pid)
        return use_of(pids)

    async def live(
        self, people: int, seconds: float, fault: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """So many people for so long, or until `fault` has happened if that takes longer."""
        models = tuple(name for name in MODELS if store.is_here(name))
        planned = time.monotonic() + seconds
        self.end = planned if fault is None else float("inf")
        room = Room(
            self.address, self.think, self.texts, self.start, self.answers.append, self.habits,
            models, self.is_bare,
        )  # fmt: skip
        first = len(self.people)
        new = [Person(first + number, room) for number in range(people)]
        self.people += new
        before = os.times()
        watch = asyncio.create_task(self._watch())
        pause = min(ARRIVAL * seconds, 30.0) / max(people, 1)
        lives = [
            asyncio.create_task(self._arrive(person, pause * number))
            for number, person in enumerate(new)
        ]
        try:
            if fault is not None:
                await fault()
                self.end = max(planned, time.monotonic() + GRACE)
            await asyncio.gather(*lives)
        finally:
            for task in (watch, *lives):
                task.cancel()
        after = os.times()
        self.driver += after.user + after.system - before.user - before.system

    async def _arrive(self, person: Person, after: float) -> None:
        await asyncio.sleep(after)
        await person.live(lambda: self.end)

    async def _watch(self) -> None:
        while True:
            self.uses.append(self.use())
            await asyncio.sleep(EVERY)
