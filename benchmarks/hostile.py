"""Thousands of hostile and odd inputs: not one traceback, blank page, or piece of live markup."""

import asyncio
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from streamlit.proto.Element_pb2 import Element

from benchmarks.crowd.folders import folder_problems
from benchmarks.crowd.odd import Case, cases
from benchmarks.crowd.server import Server
from benchmarks.crowd.tab import LostError, Run, Tab
from benchmarks.measure import report

# What Plotly reads as markup and the app writes itself.
OWN = re.compile(r"<extra></extra>|<br>|<b>[+×\d ]+</b>|</?span(?: style='font-size:\d\dpx')?>")
# What Streamlit's Markdown would make something of; the app escapes all of a user's text.
LIVE = re.compile(
    r"(?<!\\)<\s*(?:script|img|svg|iframe|style|a\b|b\b|base|meta|input|details)|(?<!\\)!\["
    r"|\]\(\s*(?:javascript|https?:)|(?<!\\):(?:material/home|smile|rainbow)"
)
FOLDERS = 10  # one input of so many is a broken model folder
SHOWN = ("plotly_chart", "alert", "arrow_data_frame", "data_frame", "code")


@dataclass
class Trial:
    """A case, and what is wrong with the page that came of it."""

    case: Case
    problems: list[str] = field(default_factory=list)
    ms: float = 0.0


async def attempt(address: str, case: Case) -> Trial:
    """Try one case in a session of its own."""
    trial = Trial(case)
    tab = Tab(address, case.link, case.page)
    try:
        await tab.connect()
        run = await tab.rerun()
        trial.problems += faults_of(run)
        if case.value is not None and tab.widgets.has(case.widget):
            value = list(case.value) if isinstance(case.value, tuple) else case.value
            run = await tab.change(case.widget, value)
            trial.problems += faults_of(run, not tab.is_fragment_run)
        trial.ms = run.ms
    except (LostError, TimeoutError) as error:
        trial.problems.append(f"{type(error).__name__}: {error}")
    await tab.close()
    return trial


def faults_of(run: Run, is_whole: bool = True) -> list[str]:
    """What must not be on any page, and what every whole page has to have."""
    found = [f"exception: {text}" for text in run.exceptions]
    if is_whole and not run.titles:
        found.append("no title")
    if not any(element.WhichOneof("type") in SHOWN for element in run.elements):
        found.append("neither a picture nor a message")
    for element in run.elements:
        found += [f"markup: {text}" for text in live_markup(element)]
    return found


def live_markup(element: Element) -> Iterator[str]:
    """Text of users that would become markup in the browser."""
    kind = element.WhichOneof("type")
    if kind == "plotly_chart":
        for text in _strings(json.loads(element.plotly_chart.spec)):
            if re.search(r"<|\$", OWN.sub("", text)):
                yield f"in a picture: {text[:80]}"
    elif kind in ("markdown", "alert", "heading"):
        body = getattr(element, kind).body
        if LIVE.search(body):
            yield f"in {kind}: {body[:80]}"
    elif kind == "html" and "__pwned" in element.html.body:
        yield f"in html: {element.html.body[:80]}"


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key != "bdata":
                yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


async def attempts(address: str, wanted: Iterator[Case], at_once: int) -> list[Trial]:
    """All of them, some at a time."""
    done: list[Trial] = []

    async def work() -> None:
        for case in wanted:
            done.append(await attempt(address, case))
            if len(done) % 250 == 0:
                bad = sum(bool(trial.problems) for trial in done)
                typer.echo(f"{len(done):6,} tried, {bad} went wrong")

    await asyncio.gather(*(work() for _ in range(at_once)))
    return done


def main(n: int = 5_000, seed: int = 0, at_once: int = 4) -> None:
    """Try, print a table, and write benchmarks/results/hostile.json; exit code 1 for any fault."""
    with tempfile.TemporaryDirectory() as folder:
        with Server(Path(folder) / "log") as server:
            asyncio.run(server.wait())
            asyncio.run(attempt(server.address, Case("first visit", "")))
            inputs = cases(n - n // FOLDERS, seed)
            trials = asyncio.run(attempts(server.address, inputs, at_once))
        logged = server.logged
        folders = folder_problems(n // FOLDERS, seed, Path(folder))
    rows = []
    for kind in sorted({trial.case.kind for trial in trials}):
        same = [trial for trial in trials if trial.case.kind == kind]
        problems = [problem for trial in same for problem in trial.problems]
        rows.append(
            {
                "kind": kind,
                "n": len(same),
                "tracebacks": sum("exception" in problem for problem in problems),
                "blank": sum(problem.startswith(("no title", "neither")) for problem in problems),
                "live markup": sum("markup" in problem for problem in problems),
                "no answer": sum("Error" in p and "exception" not in p for p in problems),
                "slowest, ms": max(trial.ms for trial in same),
            }
        )
    rows.append({"kind": "model folder", "n": n // FOLDERS, "tracebacks": len(folders)})
    bad = [trial for trial in trials if trial.problems]
    notes = [f"Tracebacks in the server's log: {logged.count('Traceback')}"]
    notes += [f"{ascii(trial.case)[:300]}: {ascii(trial.problems[0])[:300]}" for trial in bad[:20]]
    notes += folders[:10]
    report("hostile", f"{n:,} hostile inputs", rows, notes)
    if "Traceback" in logged:
        typer.echo(logged[logged.index("Traceback") :][:6_000])
    raise typer.Exit(1 if bad or folders or "Traceback" in logged else 0)


if __name__ == "__main__":
    typer.run(main)
