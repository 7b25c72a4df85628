"""What was asked and what came; and afterwards, whether it was right."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlencode

import numpy as np
import orjson
import torch
from numpy.typing import NDArray

import attention_lab as lab
from attention_lab.analysis.panel import panel
from attention_lab.figures.overview import GREY, TOP
from attention_lab.generation import greedy
from attention_lab.tracing.site import Stage
from attention_lab.tracing.trace import Trace
from attention_lab.ui.examples import FIRST, FOCUS
from attention_lab.zoo.loaded import Model
from benchmarks.crowd.arrays import decode

MODELS = ("minilm", "translator-en-zh", "smollm2")
CLOSE = 1e-4  # another machine's matrix product may round otherwise
LEVELS = 1  # of 250, in the overview, for the same reason


@dataclass(frozen=True)
class Asked:
    """The state of one person's Explore page, and so the picture that it has to show."""

    text: str = FIRST
    model: str = MODELS[0]
    layer: int = 3
    head: int = 1
    stage: Stage = "weights"
    mask: str = "own"
    off: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: str, text: str = FIRST) -> "Asked":
        """A model as the app opens it."""
        layer, head = FOCUS[model]
        return cls(text, model, layer, head)

    @classmethod
    def from_link(cls, link: str) -> "Asked":
        """The state that a link holds."""
        found = parse_qs(link)
        first = {key: values[0] for key, values in found.items()}
        asked = cls.of(first.get("model", MODELS[0]), first.get("text", FIRST))
        return replace(
            asked,
            layer=int(first.get("layer", asked.layer)),
            head=int(first.get("head", asked.head)),
            stage=first.get("stage", "weights"),  # type: ignore[arg-type]
            mask=first.get("mask", "own"),
            off=tuple(found.get("off", ())),
        )

    def to_link(self) -> str:
        """A link that opens the page in this state."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.__match_args__}
        return urlencode({name: value for name, value in values.items() if value != ()}, doseq=True)

    @property
    def site(self) -> str:
        """Where the large picture looks: the last kind of attention of the model."""
        parts = {"minilm": "encoder.{}.self", "smollm2": "decoder.{}.self"}
        return parts.get(self.model, "decoder.{}.cross").format(self.layer)

    @property
    def run(self) -> tuple[str, str, str, tuple[str, ...]]:
        """What the trace depends on."""
        return self.model, self.text, self.mask, self.off


@dataclass
class Answer:
    """One answer as it arrived, with only what its check needs."""

    person: int
    kind: str
    asked: Asked
    at: float  # seconds since the start
    ms: float
    problem: str = ""  # "" until something is wrong
    labels: list[str] = field(default_factory=list)
    values: NDArray[np.float32] | None = None
    tile: NDArray[np.uint8] | None = None  # the chosen head's, where the overview came, too
    bytes: int = 0


def take(answer: Answer, plots: Mapping[str, str]) -> None:
    """Keep what the pictures show. What is missing or odd is the answer's problem."""
    large, small = plots.get("detail"), plots.get("overview")
    if large is None:
        answer.problem = "no picture"
        return
    answer.bytes = len(large) + len(small or "")
    figure = orjson.loads(large)
    answer.values = decode(figure["data"][0]["z"]).astype(np.float32)
    ticks = figure["layout"]["yaxis"]["ticktext"]
    answer.labels = [html.unescape(text) for text in ticks]
    if small is not None:
        answer.tile = _tile(orjson.loads(small), answer.asked)


def _tile(figure: Any, asked: Asked) -> NDArray[np.uint8]:
    """The chosen head's tile, gutters included on two sides."""
    picture = figure["data"][0]
    image = decode(picture["z"])
    rows, columns = round(1 / picture["dy"]), round(1 / picture["dx"])
    top, left = asked.layer * rows, asked.head * columns
    tile: NDArray[np.uint8] = image[top : top + rows, left : left + columns].astype(np.uint8)
    return tile


def check(answers: Sequence[Answer]) -> int:
    """Compute anew what each answer has to show, and write what is wrong into its `problem`.

    Runs after the clock has stopped: nothing is computed beside the server. Returns how many traces
    that took.
    """
    torch.set_num_threads(1)  # two would wait for each other where the machine is busy
    groups: dict[tuple[str, str, str, tuple[str, ...]], list[Answer]] = {}
    for answer in answers:
        if answer.values is not None:
            groups.setdefault(answer.asked.run, []).append(answer)
    models = {name: lab.load(name) for name in {run[0] for run in groups}}
    labels: dict[tuple[str, ...], str] = {}
    for (name, text, mask, off), same in groups.items():
        trace = _trace(models[name], text, mask, off)
        labels[trace[same[0].asked.site].query_tokens.labels] = text
        for answer in same:
            answer.problem = answer.problem or _wrong(answer, trace)
    for answer in answers:
        shown = labels.get(tuple(answer.labels))
        if answer.problem.startswith("wrong") and shown not in (None, answer.asked.text):
            answer.problem = "mix-up: another person's sentence"
    return len(groups)


def _trace(model: Model, text: str, mask: str, off: tuple[str, ...]) -> Trace:
    target = greedy(model, text).ids if model.target_tokenizer is not None else None
    edits = [
        lab.ablate(site, head=int(head)) if head else lab.ablate(site)
        for site, _colon, head in (place.partition(":") for place in off)
    ]
    return lab.trace(model, text, target, None if mask == "own" else mask, edits)


def _wrong(answer: Answer, trace: Trace) -> str:
    asked = answer.asked
    shown = panel(trace, asked.site, asked.head, asked.stage)
    if answer.labels != [token.label for token in shown.rows]:
        return "wrong tokens"
    if answer.values is None or answer.values.shape != shown.values.shape:
        return "wrong size"
    if not np.allclose(answer.values, shown.values, CLOSE, CLOSE, equal_nan=True):
        return f"wrong numbers in {asked.stage}"
    return "" if answer.tile is None else _wrong_tile(answer.tile, trace, asked)


def _wrong_tile(tile: NDArray[np.uint8], trace: Trace, asked: Asked) -> str:
    site = trace[asked.site]
    weights = site.weights[asked.head]
    is_open = site.mask[asked.head if len(site.mask) > 1 else 0]
    rows, columns = weights.shape
    seen = tile[:rows, :columns].astype(int)
    levels = np.where(is_open, np.rint(weights * TOP), GREY)
    right = seen.shape == levels.shape and np.abs(seen - levels).max() <= LEVELS
    return "" if right else "wrong numbers in the overview"
