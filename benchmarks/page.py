"""What the Explore page costs: the server alone, and in Chromium beside a bare Streamlit page."""

import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import typer

from benchmarks.browser import change_head, pages
from benchmarks.client import Session
from benchmarks.measure import Times, alternate, report

ROOT = Path(__file__).resolve().parents[1]
PAGE, BARE = "Explore", "bare page"
SCRIPTS = {PAGE: "app.py", BARE: "benchmarks/bare_page.py"}
SENTENCE = "The animal didn't cross the street because it was too tired, {n} times."


def free_address() -> str:
    """Of a server that is about to start, e.g. "127.0.0.1:8501"."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


@contextmanager
def served(script: str, count: Path) -> Iterator[str]:
    """The address of `script`, served until the end; `count` gets a byte a forward pass."""
    address = free_address()
    host, port = address.split(":")
    options = [f"--server.port={port}", f"--server.address={host}", "--server.headless=true"]
    command = [sys.executable, "-m", "benchmarks.serve", str(count), script, *options]
    count.touch()
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        _wait(f"http://{address}/_stcore/health", server)
        yield address
    finally:
        server.terminate()
        server.wait()


def _wait(url: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("The server did not start.")


def without_forward(action: Callable[[], object], count: Path) -> None:
    """Do something that must not run the model. Raises `RuntimeError` if it does."""
    before = count.stat().st_size
    action()
    if count.stat().st_size != before:
        raise RuntimeError("The model was run, and should not have been.")


def on_the_server(addresses: dict[str, str], counts: dict[str, Path], rounds: int) -> list[Any]:
    """Over the WebSocket: a first run, a change of head, a change of text; rows of ms."""
    with ExitStack() as stack:
        sessions: dict[str, Session] = {}
        heads, numbers = cycle(range(12)), iter(range(10_000))

        def open_session(name: str) -> None:
            sessions[name] = stack.enter_context(Session(addresses[name]))
            sessions[name].open()

        for name in addresses:
            open_session(name)  # the very first one also loads the model
        times = {
            "first run": alternate(
                {name: partial(open_session, name) for name in addresses}, rounds
            )
        }

        def another_head(name: str) -> None:
            head = next(heads)
            without_forward(partial(sessions[name].change, "Head", head), counts[name])

        times["another head"] = alternate(
            {name: partial(another_head, name) for name in addresses}, rounds
        )

        def another_text() -> None:
            sessions[PAGE].change("Your sentence", SENTENCE.format(n=next(numbers)))

        times["another text"] = alternate({PAGE: another_text}, rounds)
    return [_row("server", name, found) for name, found in times.items()]


def in_chromium(addresses: dict[str, str], counts: dict[str, Path], rounds: int) -> list[Any]:
    """From the click on another head to its painted picture; a row of ms."""
    urls = {name: f"http://{address}" for name, address in addresses.items()}
    with pages(urls) as opened:
        up = {name: cycle([True, False]) for name in opened}

        def change(name: str) -> None:
            without_forward(partial(change_head, opened[name], next(up[name])), counts[name])

        times = alternate({name: partial(change, name) for name in opened}, rounds)
    return [_row("Chromium", "another head", times)]


def _row(where: str, what: str, times: Times) -> dict[str, Any]:
    row: dict[str, Any] = {"where": where, "what": what}
    row |= {f"{name}, ms": value for name, value in times.items()}
    return row | ({"ratio": times[PAGE] / times[BARE]} if BARE in times else {})


def main(rounds: int = 11) -> None:
    """Measure, print a table, and write benchmarks/results/page.json."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        counts = {name: Path(folder) / name for name in SCRIPTS}
        addresses = {
            name: stack.enter_context(served(script, counts[name]))
            for name, script in SCRIPTS.items()
        }
        rows = on_the_server(addresses, counts, rounds)
        rows += in_chromium(addresses, counts, rounds)
    notes = ["A change of head ran no model: counted. The bare page has the same two pictures."]
    report("page", "Explore, minilm, 15 tokens: medians of milliseconds", rows, notes)


if __name__ == "__main__":
    typer.run(main)
