"""The app's server as `make run` starts it, and what it uses."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SERVE = "attention_lab.ui.serve"
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Use:
    """What processes use at one moment."""

    at: float  # seconds on the monotonic clock
    rss: float  # MB that are in memory
    cpu: float  # seconds of a core, since they started


def use_of(pids: list[int]) -> Use:
    """The sum over some processes; those that have ended count nothing."""
    rss = cpu = 0.0
    for pid in pids:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        rss += float(status.partition("VmRSS:")[2].split()[0]) / 1024 if "VmRSS" in status else 0.0
        cpu += (int(stat[11]) + int(stat[12])) / TICKS
    return Use(time.monotonic(), rss, cpu)


class Server:
    """One server process on a free port: of the app, or of another script."""

    def __init__(self, log: Path, script: str = "", extra: Mapping[str, str] | None = None) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self._log, self._script = log, script
        self._environment = os.environ | dict(extra or {})
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it listens a few seconds later."""
        command = [sys.executable, "-m"]
        command += ["streamlit", "run", self._script] if self._script else [SERVE]
        command += ["--server.address=127.0.0.1", f"--server.port={self.port}"]
        command += ["--server.headless=true"]
        with self._log.open("ab") as sink:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=sink, stderr=subprocess.STDOUT, env=self._environment
            )

    async def wait(self, seconds: float = 120) -> None:
        """Until it listens. Raises `RuntimeError` with the end of its log if it does not."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process and self.process.poll() is None:
            try:
                _reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.1)
                continue
            writer.close()
            return
        raise RuntimeError(f"The server did not start.\n{self.logged[-3000:]}")

    def stop(self, hard: bool = False) -> None:
        """End it, with a signal that it may answer or with one that it cannot."""
        if self.process is None:
            return
        (self.process.kill if hard else self.process.terminate)()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def use(self) -> Use:
        """What it uses now."""
        return use_of([self.process.pid] if self.process else [])

    @property
    def logged(self) -> str:
        """Its log so far."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def __enter__(self) -> "Server":
        self.start()
        return self

    def __exit__(self, *_error: Any) -> None:
        self.stop()
