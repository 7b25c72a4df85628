"""What goes wrong in a room, done on purpose while everybody works."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

import numpy as np

from benchmarks.crowd.answers import Asked
from benchmarks.crowd.crowd import Crowd
from benchmarks.crowd.sentences import sentence
from benchmarks.crowd.tab import Run, Tab
from benchmarks.crowd.web import XSRF

PASTED = 100_000  # characters
TEN = 10
FLOOD = 100  # sentences
SEVERE = ("exception", "never", "No answer", "mix-up", "wrong", "no picture", "no title")


@dataclass
class Faults:
    """The faults named, one after another, evenly over `seconds`."""

    crowd: Crowd
    names: list[str]
    seconds: float
    command: str = ""
    happened: list[tuple[str, float, float, str]] = field(default_factory=list)

    async def happen(self) -> None:
        """Each of them, in its turn."""
        pause = self.seconds / (len(self.names) + 1)
        for number, name in enumerate(self.names):
            await asyncio.sleep(max(0.0, pause * (number + 1) - self.crowd.now))
            begin = self.crowd.now
            said = await FAULTS[name](self)
            self.happened.append((name, begin, self.crowd.now, said))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What happened, and to whom; complete only after the run and its check."""
        ends = [begin for _name, begin, _end, _said in self.happened[1:]] + [float("inf")]
        return [
            self._row(name, begin, until, said)
            for (name, begin, _end, said), until in zip(self.happened, ends, strict=True)
        ]

    def _row(self, name: str, begin: float, until: float, said: str) -> dict[str, Any]:
        people = self.crowd.people
        returns = [r for p in people for r in p.returns if begin <= r.at < until]
        touched = {r.person for r in returns}
        answers = [a for a in self.crowd.answers if begin <= a.at < until]
        bad = [a for a in answers if a.problem.startswith(SEVERE)]
        row: dict[str, Any] = {"fault": name, "at, s": begin, "people cut off": len(touched)}
        if returns:
            times = [r.ms / 1e3 for r in returns]
            row["back, median s"] = float(np.median(times))
            row["back, all s"] = max(times)
            row["as before"] = sum(r.as_before for r in returns)
        row["errors after"] = len(bad)
        row["of others"] = sum(a.person not in touched for a in bad)
        row["said"] = said
        return row


async def _restart(faults: Faults, hard: bool = False) -> str:
    server = faults.crowd.server
    if server is None:
        return "not done: the server is somebody else's"
    await asyncio.to_thread(server.stop, hard)
    begin = time.monotonic()
    server.start()
    await server.wait()
    return f"listening again after {time.monotonic() - begin:.1f} s"


async def _kill(faults: Faults) -> str:
    return await _restart(faults, hard=True)


async def _command(faults: Faults) -> str:
    process = await asyncio.create_subprocess_shell(faults.command)
    return f"exit code {await process.wait()}: {faults.command}"


async def _cut(faults: Faults) -> str:
    """Ten ask for a long text, and their network is gone before the answer; they come back."""
    text = " ".join(sentence(next(faults.crowd.texts)) for _ in range(12))
    async with _tabs(faults) as tabs:
        for number, tab in enumerate(tabs):
            tab.widgets.set("text", f"{number} {text}")
            await tab.send(tab.widgets.fragment("text"))
            await asyncio.sleep(0.02)
            tab.cut()
            await tab.lost.wait()
        begin = time.monotonic()
        runs = [await tab.come_back() for tab in tabs]
        both = zip(runs, tabs, strict=True)
        right = sum(run is not None and _shows(run, tab) for run, tab in both)
        return f"{right} of {TEN} got their picture {time.monotonic() - begin:.1f} s later"


async def _paste(faults: Faults) -> str:
    """Ten paste far too long a text at once, and then type a sentence."""
    async with _tabs(faults) as tabs:
        texts = [f"{n}{'long ' * (PASTED // 5)}"[:PASTED] for n in range(TEN)]
        pasted = [tab.change("text", text) for tab, text in zip(tabs, texts, strict=True)]
        runs = await asyncio.gather(*pasted)
        told = [run.alerts[0] for run in runs if run.alerts and not run.exceptions]
        typed = [tab.change("text", sentence(next(faults.crowd.texts))) for tab in tabs]
        well = [run for run in await asyncio.gather(*typed) if "detail" in run.plots]
        slowest = max(run.ms for run in runs)
        words = set(told).pop() if told else ""
        return (
            f"{len(told)} of {TEN} were told so within {slowest:.0f} ms ({words!r}); "
            f"{len(well)} went on"
        )


async def _flood(faults: Faults) -> str:
    """One person has a script that types: the cache is full of what nobody asks for again."""
    before = faults.crowd.use().rss
    async with _tabs(faults, 1) as (tab,):
        runs = [await tab.change("text", sentence(next(faults.crowd.texts))) for _ in range(FLOOD)]
    right = sum("detail" in run.plots for run in runs)
    after = faults.crowd.use().rss
    return f"{right} of {FLOOD} answered; memory {before:.0f} → {after:.0f} MB"


async def _upload(faults: Faults) -> str:
    """Files for an app that takes none: what the server answers, and what it keeps."""
    async with _tabs(faults, 1) as (tab,):
        path, token = f"/_stcore/upload_file/{tab.session}/", tab.web.cookies.get(XSRF, "")
        right = {"X-Xsrftoken": token}
        found = {
            "without a token": await tab.web.put(path + "a", *_form(1000, {})),
            "21 MB": await tab.web.put(path + "b", *_form(21 * 2**20, right)),
            "another's session": await tab.web.put(
                f"/_stcore/upload_file/{token_hex(8)}/c", *_form(1000, right)
            ),
            "up the path": await tab.web.put(path + "..%2f..%2fd", *_form(1000, right)),
            "1 MB, in form": await tab.web.put(path + "e", *_form(2**20, right)),
        }
        run = await tab.rerun()
        goes_on = "goes on" if _shows(run, tab) else "does not go on"
    said = "; ".join(f"{name}: {status or 'hung up'}" for name, status in found.items())
    return f"{said}; {goes_on}"


def _form(size: int, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    line = token_hex(16)
    file = 'form-data; name="f"; filename="../../evil.pkl"'
    head = f"--{line}\r\nContent-Disposition: {file}\r\n\r\n"
    body = head.encode() + b"\x80" * size + f"\r\n--{line}--\r\n".encode()
    return body, headers | {"Content-Type": f"multipart/form-data; boundary={line}"}


def _shows(run: Run, tab: Tab) -> bool:
    return "detail" in run.plots and not run.exceptions and bool(Asked.from_link(tab.link).text)


@asynccontextmanager
async def _tabs(faults: Faults, n: int = TEN) -> AsyncIterator[list[Tab]]:
    """So many more people, for a moment."""
    async with AsyncExitStack() as stack:
        tabs = [Tab(faults.crowd.address) for _ in range(n)]
        for tab in tabs:
            stack.push_async_callback(tab.close)
        await asyncio.gather(*(tab.open() for tab in tabs))
        yield tabs


FAULTS: dict[str, Callable[[Faults], Awaitable[str]]] = {
    "restart": _restart,
    "kill": _kill,
    "cut": _cut,
    "paste": _paste,
    "flood": _flood,
    "upload": _upload,
    "command": _command,
}
