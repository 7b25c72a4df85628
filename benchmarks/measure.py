"""Alternating measurements, and results as a table on the screen and as JSON beside it."""

import gc
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"

Times = dict[str, float]  # milliseconds


def alternate(
    functions: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> Times:
    """The median of each function's times in ms; in each round every function runs once.

    On a busy machine all suffer alike, so that at least their ratio is right.
    """
    times: dict[str, list[int]] = {name: [] for name in functions}
    for function in functions.values():
        function()  # what happens only the first time
    gc.collect()
    gc.freeze()  # as the app does
    for _round in range(rounds):
        for name, function in functions.items():
            start = clock()
            function()
            times[name].append(clock() - start)
    gc.unfreeze()
    return {name: median(values) / 1e6 for name, values in times.items()}


def report(name: str, title: str, rows: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> None:
    """Print `rows` as a table and write them, with `notes`, to `results/NAME.json`."""
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    for column in columns:
        longest = max(len(word) for word in column.split())
        table.add_column(column, justify="right", min_width=longest)
    for row in rows:
        table.add_row(*(_written(row.get(column)) for column in columns))
    console = Console(width=max(120, Console().width))
    console.print(table)
    notes = [*notes, f"Load average at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"]
    for note in notes:
        console.print(f"· {note}", markup=False)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps({"title": title, "rows": rows, "notes": notes}, indent=2))
    temporary.replace(path)


def _written(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value if value is not None else "–")
