"""A sample of hostile and odd inputs on a real server; `make bench-hostile` tries thousands."""

import asyncio
import random
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.proto.Element_pb2 import Element

import attention_lab as lab
from attention_lab.errors import LabError
from benchmarks.crowd import odd
from benchmarks.crowd.folders import folder_problems
from benchmarks.crowd.server import Server
from benchmarks.crowd.tab import Run
from benchmarks.hostile import Trial, attempt, attempts, faults_of, live_markup
from tests.ui.conftest import MODELS

N = 60


def test_every_page_and_its_keys_are_tried() -> None:
    assert {"", "heads", "steps", "translate"} <= set(odd.pages())
    assert {"text", "model", "off", "head", "stage", "query", "beam", "target"} <= set(odd.keys())
    sample = list(odd.cases(500))
    assert {case.page for case in sample} == set(odd.pages())
    assert sample == list(odd.cases(500))


def test_no_traceback_no_blank_page_no_live_markup(tmp_path: Path) -> None:
    with Server(tmp_path / "log") as server:
        asyncio.run(server.wait())
        first = asyncio.run(all_pages(server.address))
        trials = asyncio.run(attempts(server.address, odd.cases(N, seed=6), at_once=2))
    assert len(trials) == N
    assert {trial.case: trial.problems for trial in first + trials if trial.problems} == {}
    assert "Traceback" not in server.logged


async def all_pages(address: str) -> list[Trial]:
    """The first visitors of a server, each on another page: imports must not get in each other's
    way."""
    visits = [attempt(address, odd.Case("first visit", page)) for page in odd.pages()]
    return await asyncio.gather(*visits)


def test_broken_model_folders(tmp_path: Path) -> None:
    assert folder_problems(N, 7, tmp_path) == []


@pytest.mark.parametrize("seed", range(20))
def test_the_engine_takes_any_text_or_says_why_not(seed: int) -> None:
    """Half surrogate pairs, too, which no browser can send."""
    chance = random.Random(seed)
    for text in (odd.text(chance), odd.text(chance) + chr(chance.randrange(0xD800, 0xE000))):
        try:
            trace = lab.trace(MODELS["minilm"], text)
        except LabError as error:
            message = str(error)
        else:
            message = trace.tokens.text
            lab.figures.heatmap(trace, "encoder.0.self").to_json()
        assert message.encode()  # what it says can be sent


def element(kind: str, text: str) -> Element:
    found = Element()
    if kind == "plotly_chart":
        found.plotly_chart.spec = f'{{"layout": {{"ticktext": ["{text}"]}}}}'
    else:
        getattr(found, kind).body = text
    return found


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("plotly_chart", "<b>cat</b>"),
        ("plotly_chart", "$x$"),
        ("markdown", "**<img src=x onerror=y>**"),
        ("alert", "[x](javascript:y)"),
        ("heading", "a :smile: b"),
        ("html", "<b>__pwned</b>"),
    ],
)
def test_live_markup_is_seen(kind: str, text: str) -> None:
    assert list(live_markup(element(kind, text)))


def test_a_blank_page_is_seen() -> None:
    run = Run()
    assert len(faults_of(run)) == 2
    title = Element()
    title.heading.tag, title.heading.body = "h1", "Title"
    run.elements = [title, element("alert", "The text is empty.")]
    assert faults_of(run) == []
    trouble = Element()
    trouble.exception.message = "Oh"
    assert faults_of(replace(run, elements=[*run.elements, trouble]))
