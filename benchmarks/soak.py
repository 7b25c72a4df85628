"""Ten thousand distinct sentences through one server process: does its memory stay where it is?"""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from benchmarks.crowd.answers import Asked
from benchmarks.crowd.sentences import sentence
from benchmarks.crowd.server import Server
from benchmarks.crowd.tab import Tab
from benchmarks.measure import report

STAY = 100  # sentences; then a person leaves and another one comes
FIRST = 1_000  # sentences after which memory must not grow any more
AIM = 0.05  # by more than this


@dataclass
class Soak:
    """What is done, and what was seen."""

    server: Server
    sentences: int
    every: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    done: int = 0
    problems: list[str] = field(default_factory=list)
    start: float = field(default_factory=time.monotonic)

    async def run(self, people: int) -> None:
        """All sentences, from so many people at a time."""
        texts = iter([*map(sentence, range(self.sentences))])

        async def type_on() -> None:
            for first in texts:
                await self._visit(Tab(self.server.address, Asked(text=first).to_link()), texts)

        await asyncio.gather(*(type_on() for _person in range(people)))

    async def _visit(self, tab: Tab, texts: Iterator[str]) -> None:
        run = await tab.open()
        self._note("detail" in run.plots, run.exceptions + run.alerts)
        for _number, text in zip(range(STAY - 1), texts, strict=False):
            run = await tab.change("text", text)
            self._note("detail" in run.plots, run.exceptions + run.alerts)
        await tab.close()

    def _note(self, is_answered: bool, said: list[str]) -> None:
        self.done += 1
        if not is_answered:
            self.problems.append(said[0] if said else "no picture")
        if self.done % self.every == 0:
            use = self.server.use()
            took = time.monotonic() - self.start
            self.rows.append(
                {"sentences": self.done, "memory, MB": use.rss, "minutes": took / 60}
                | {"CPU a sentence, ms": 1e3 * use.cpu / self.done}
            )
            typer.echo(f"{self.done:6,}  {use.rss:7,.0f} MB  {took / 60:5.1f} min")

    @property
    def growth(self) -> float:
        """Of memory from after the first 1,000 sentences to the end, as a part of the former."""
        first = next(row for row in self.rows if row["sentences"] >= min(FIRST, self.sentences))
        return float(self.rows[-1]["memory, MB"] / first["memory, MB"] - 1)


def main(
    sentences: int = 10_000,
    people: Annotated[int, Option(help="At the same time; each types without a pause.")] = 4,
    every: Annotated[int, Option(help="Sentences between two looks at memory.")] = 250,
    cache_bytes: Annotated[int, Option(help="Instead of the app's default.")] = 0,
) -> None:
    """Measure, print a table, and write benchmarks/results/soak.json."""
    extra = {"ATTENTION_LAB_CACHE_BYTES": str(cache_bytes)} if cache_bytes else {}
    with tempfile.TemporaryDirectory() as folder:
        with Server(Path(folder) / "log", extra=extra) as server:
            asyncio.run(server.wait())
            soak = Soak(server, sentences, every)
            asyncio.run(soak.run(people))
        tracebacks = server.logged.count("Traceback")
    notes = [
        f"Memory grew by {100 * soak.growth:.1f} % after the first {FIRST:,}; the aim is at most "
        f"{100 * AIM:.0f} %.",
        f"Not answered with a picture: {len(soak.problems)}",
        *sorted(set(soak.problems))[:5],
        f"Tracebacks in the log: {tracebacks}",
    ]
    report("soak", f"{sentences:,} distinct sentences, minilm", soak.rows, notes)


if __name__ == "__main__":
    typer.run(main)
