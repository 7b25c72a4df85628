"""A room full of people on the app: how long they wait, and whether each gets the right answer.

They speak Streamlit's own protocol, so that a hundred of them fit beside the server. What their
pages show is checked number by number, after the clock has stopped.
"""

import asyncio
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from benchmarks.crowd import tables
from benchmarks.crowd.answers import check
from benchmarks.crowd.crowd import Crowd
from benchmarks.crowd.faults import FAULTS, Faults
from benchmarks.crowd.server import Server
from benchmarks.measure import report

BARE = "benchmarks/bare_page.py"
AIM = 300.0  # ms, for a new sentence to minilm, at the 95th percentile
SETTLED = 0.35  # of each step, before what counts


async def _find(crowd: Crowd, people: int, seconds: float) -> list[dict[str, Any]]:
    """More and more people, until a new sentence takes too long."""
    rows: list[dict[str, Any]] = []
    while True:
        begin = len(crowd.answers)
        await crowd.live(people, seconds)
        settled = crowd.answers[begin:]
        settled = [answer for answer in settled if answer.at > settled[0].at + SETTLED * seconds]
        (found,) = [row for row in tables.kinds(settled) if row["action"] == tables.SENTENCES]
        row = {"people": people} | found
        rows.append(row)
        typer.echo(f"{people} people: p95 of {row['action']} is {row['p95, ms']:.0f} ms")
        if not row["p95, ms"] <= AIM:
            return rows
        people = max(people + 5, int(people * 1.2))


def _notes(crowd: Crowd, n_traces: int, seconds: float) -> list[str]:
    wrong = sum(answer.problem.startswith(("wrong", "mix-up")) for answer in crowd.answers)
    checked = sum(answer.values is not None for answer in crowd.answers)
    span = crowd.uses[-1].at - crowd.uses[0].at if len(crowd.uses) > 1 else seconds
    server = sum(max(b.cpu - a.cpu, 0.0) for a, b in pairwise(crowd.uses))  # 0: a new process
    sent = sum(answer.bytes for answer in crowd.answers) / 1e6
    return [
        f"{checked} pictures were compared with {n_traces} runs of the models: {wrong} wrong.",
        f"The people used {crowd.driver / seconds:.2f} of a core, the server {server / span:.2f}.",
        f"Pictures sent: {sent:.1f} MB. {_memory(crowd)}",
        *tables.problems(crowd.answers),
    ]


def _memory(crowd: Crowd) -> str:
    """What the aim is about: flat after the first two minutes."""
    late = [use for use in crowd.uses if use.at - crowd.start >= 120]
    if not late:
        return ""
    return f"Memory after 2 minutes {late[0].rss:.0f} MB, at the end {late[-1].rss:.0f} MB."


def main(
    people: int = 100,
    minutes: float = 10.0,
    think: Annotated[float, Option(help="Seconds between a person's actions, on average.")] = 10.0,
    address: Annotated[str, Option(help="Of a server that runs already; else one starts.")] = "",
    pid: Annotated[list[int] | None, Option(help="Of servers at that address.")] = None,
    fault: Annotated[list[str] | None, Option(help=f"In order: {', '.join(FAULTS)}.")] = None,
    command: Annotated[str, Option(help="What `--fault command` runs in a shell.")] = "",
    find: Annotated[bool, Option(help="Raise the number of people until it is too many.")] = False,
    bare: Annotated[bool, Option(help="The bare page instead of the app; heads only.")] = False,
    cache_bytes: Annotated[int, Option(help="For a cache that is full soon.")] = 0,
    name: Annotated[str, Option(help="Of the file in benchmarks/results.")] = "room",
) -> None:
    """Measure, print tables, and write benchmarks/results/NAME.json."""
    unknown = set(fault or ()) - set(FAULTS)
    if unknown:
        raise typer.BadParameter(f"There is no fault {', '.join(unknown)}.")
    seconds = 60 * minutes
    with tempfile.TemporaryDirectory() as folder:
        extra = {"ATTENTION_LAB_CACHE_BYTES": str(cache_bytes)} if cache_bytes else {}
        server = None
        if not address:
            server = Server(Path(folder) / "server.log", BARE if bare else "", extra)
            server.start()
            asyncio.run(server.wait())
            address = server.address
        crowd = Crowd(address, think, server, pid or (), is_bare=bare)
        if bare:
            crowd.habits = {"head": 1}
        faults = Faults(crowd, fault or [], seconds, command)
        found: list[dict[str, Any]] = []
        try:
            if find:
                found = asyncio.run(_find(crowd, people, seconds))
            else:
                asyncio.run(crowd.live(people, seconds, faults.happen))
        finally:
            if server:
                server.stop()
        logged = server.logged if server else ""
    n_traces = 0 if bare else check(crowd.answers)
    notes = _notes(crowd, n_traces, seconds)
    notes.append(f"Tracebacks in the server's log: {logged.count('Traceback')}")
    rows = tables.kinds(crowd.answers)
    report(name, f"{people} people, {minutes:g} minutes, {think:g} s between actions", rows, notes)
    if find:
        report(f"{name}_find", "More and more people", found, [f"The aim is {AIM:.0f} ms."])
    if fault:
        report(f"{name}_faults", "Faults", faults.rows, [])
    report(f"{name}_memory", "The server", tables.memory(crowd.uses, crowd.start), [])


if __name__ == "__main__":
    typer.run(main)
