"""Somebody with a tab: reads, thinks, and does the next thing."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from attention_lab.config import ModelConfig
from attention_lab.ui.detail import STAGES
from attention_lab.zoo import store
from benchmarks.crowd.answers import MODELS, Answer, Asked, take
from benchmarks.crowd.sentences import SHARED, sentence
from benchmarks.crowd.tab import LostError, Run, Tab

MASKS = {"own": "the model's own", "none": "none", "causal": "causal"}
HABITS = {  # how often people do what, of 100 times
    "sentence": 24, "shared sentence": 6, "head": 26, "layer": 10, "stage": 14, "mask": 6,
    "model": 4, "switch off": 4, "put back": 2, "page": 4,
}  # fmt: skip
LIKED = (60, 25, 15)  # of 100 times that a model is chosen: in the order of MODELS
TOGETHER = 60.0  # seconds; how often the teacher names another sentence


@dataclass(frozen=True)
class Return:
    """How somebody came back after the connection was lost."""

    person: int
    at: float  # seconds since the start
    ms: float  # from the loss to the page as it was; what was not asked for anew is 0 of it
    as_before: bool


@dataclass(frozen=True)
class Room:
    """What all people share."""

    address: str
    think: float  # seconds between actions, on average
    texts: Iterator[int]
    start: float
    note: Callable[[Answer], None]
    habits: dict[str, int]
    models: Sequence[str] = MODELS
    is_bare: bool = False  # the page has two pictures and a head, and nothing else


@lru_cache
def config_of(model: str) -> ModelConfig:
    """The sizes of a model, without its parameters."""
    return ModelConfig.from_json((store.place(model) / "config.json").read_text())


class Person:
    """One of the crowd."""

    def __init__(self, number: int, room: Room) -> None:
        self.number, self.room = number, room
        self.asked = Asked.of(room.models[0], sentence(next(room.texts)))
        self.tab = Tab(room.address, self.asked.to_link())
        self.returns: list[Return] = []
        self._random = random.Random(number)
        self._page = "Explore"

    async def live(self, until: Callable[[], float]) -> None:
        """Open the page, and use it until that moment (seconds on the monotonic clock)."""
        await self.answered("open", self.asked, self.tab.open())
        while time.monotonic() < until():
            thinking = self._random.expovariate(1 / self.room.think)
            pause = min(thinking, until() - time.monotonic())
            try:
                await asyncio.wait_for(self.tab.lost.wait(), max(pause, 0.0))
            except TimeoutError:
                if time.monotonic() < until():
                    await self.act(self._choose())
            else:
                await self._come_back(time.perf_counter())
        await self.tab.close()

    def _choose(self) -> str:
        habits = self.room.habits
        return self._random.choices(list(habits), list(habits.values()))[0]

    async def act(self, kind: str) -> None:
        """Do one thing, and take down the answer."""
        if self._page != "Explore":
            await self._go("Explore")
            return
        actions: dict[str, Callable[[], Awaitable[None]]] = {
            "sentence": lambda: self.say(sentence(next(self.room.texts))),
            "shared sentence": self._say_the_same,
            "head": lambda: self._place("head", self._other_head()),
            "layer": lambda: self._place("layer", self._other_layer()),
            "stage": self._stage,
            "mask": self._mask,
            "model": self._model,
            "switch off": self._switch,
            "put back": self._put_back,
            "page": lambda: self._go(self._random.choice(list(self.tab.pages))),
        }
        await actions[kind]()

    async def say(self, text: str, kind: str = "") -> None:
        """Type a sentence."""
        changed = ", with changes" if self.asked.mask != "own" or self.asked.off else ""
        kind = kind or f"new sentence, {self.asked.model}{changed}"
        await self.answered(kind, replace(self.asked, text=text), self.tab.change("text", text))

    async def _say_the_same(self) -> None:
        """The one that the teacher has named: at first new, and asked for by many at once."""
        number = int((time.monotonic() - self.room.start) / TOGETHER)
        await self.say(SHARED[number % len(SHARED)], "shared sentence")

    def _other_head(self) -> int:
        return self._random.randrange(config_of(self.asked.model).n_heads)

    def _other_layer(self) -> int:
        return self._random.randrange(config_of(self.asked.model).n_layers)

    async def _place(self, name: str, value: int) -> None:
        wanted = replace(self.asked, **{name: value})  # type: ignore[arg-type]
        label = name.capitalize() if self.room.is_bare else name
        await self.answered(name, wanted, self.tab.change(label, value))

    async def _stage(self) -> None:
        stage = self._random.choice(STAGES)
        wanted = replace(self.asked, stage=stage)
        doing = self.tab.change("stage", [stage.replace("_", " ")])
        await self.answered("stage", wanted, doing)

    async def _mask(self) -> None:
        mask = self._random.choice(list(MASKS))
        wanted = replace(self.asked, mask=mask)
        await self.answered("mask", wanted, self.tab.change("mask", MASKS[mask]))

    async def _model(self) -> None:
        model = self._random.choices(self.room.models, LIKED[: len(self.room.models)])[0]
        first = Asked.of(model, self.asked.text)
        stays = {"stage": self.asked.stage, "mask": self.asked.mask}
        wanted = self.asked if model == self.asked.model else replace(first, **stays)  # type: ignore[arg-type]
        options = self.tab.widgets.options("model")
        option = next(option for option in options if option.startswith(model))
        await self.answered(f"model, {model}", wanted, self.tab.change("model", option))

    async def _switch(self) -> None:
        place = f"{self.asked.site}:{self.asked.head}"
        off = list(self.asked.off)
        off.remove(place) if place in off else off.append(place)
        wanted = replace(self.asked, off=tuple(off))
        await self.answered("switch off", wanted, self.tab.press("toggle_head"))

    async def _put_back(self) -> None:
        if self.tab.widgets.has("Put everything back"):
            wanted = replace(self.asked, mask="own", off=())
            await self.answered("put back", wanted, self.tab.press("Put everything back"))
        else:
            await self._place("head", self._other_head())

    async def _go(self, page: str) -> None:
        """Choose a page. Explore has to know the sentence and the model when one returns."""
        self._page = page
        await self.answered(f"page {page}", self.asked, self.tab.go(page))

    async def answered(self, kind: str, wanted: Asked, doing: Awaitable[Run]) -> None:
        """Wait for the answer to an action, after which the page has to show `wanted`."""
        answer = Answer(self.number, kind, wanted, time.monotonic() - self.room.start, 0.0)
        sent = time.perf_counter()
        self.asked = wanted
        try:
            run = await doing
        except LostError:
            await self._come_back(sent)
            return
        except TimeoutError as error:
            answer.problem = str(error)
        else:
            if kind == "page Explore":  # other pages have moved the choice of a head
                answer.asked = self.asked = Asked.from_link(self.tab.link)
            self._look(answer, run)
            if (self.asked.text, self.asked.model) != (wanted.text, wanted.model):
                answer.problem = f"{kind} forgot the sentence or the model"
        self.room.note(answer)

    def _look(self, answer: Answer, run: Run) -> None:
        answer.ms = run.ms
        if run.exceptions:
            answer.problem = f"exception: {run.exceptions[0][:200]}"
        elif self.room.is_bare:
            answer.problem = "" if run.plots else "no picture"
        elif self._page != "Explore":
            answer.problem = "" if run.titles else "no title"
        else:
            take(answer, run.plots)
            in_link = Asked.from_link(self.tab.link)
            if answer.problem and run.alerts:
                answer.problem = f"refused: {run.alerts[0][:200]}"
            elif answer.values is not None and in_link != answer.asked:
                answer.problem = f"the link holds {in_link}"

    async def _come_back(self, lost: float) -> None:
        """Connect again; the page has to be as its link says, and what was not answered is lost."""
        at, before = time.monotonic() - self.room.start, self.asked
        try:
            run = await self.tab.come_back()
        except (LostError, TimeoutError) as error:
            problem = f"never came back: {error}"
            self.room.note(Answer(self.number, "come back", before, at, 0.0, problem))
            return
        ms = (time.perf_counter() - lost) * 1e3
        if self._page == "Explore":
            self.asked = Asked.from_link(self.tab.link)
        if run is not None:
            answer = Answer(self.number, "come back", self.asked, at, ms)
            self._look(answer, run)
            answer.ms = ms
            self.room.note(answer)
        self.returns.append(Return(self.number, at, ms, self.asked == before))
