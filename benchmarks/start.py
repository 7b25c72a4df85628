"""Cold start: from the command to the first heatmap in Chromium, beside the imports it needs.

Both begin with a new process. The second only imports PyTorch and Streamlit and reads the same
parameters; nothing that shows a model's attention with the two can take less.
"""

import subprocess
import sys
import time
import urllib.request
from statistics import median

import typer
from playwright.sync_api import Browser

from attention_lab.zoo import store
from benchmarks.browser import chromium
from benchmarks.measure import report
from benchmarks.page import ROOT, free_address

MODEL = "minilm"
ALONE = """\
import sys
import streamlit, torch
from safetensors.torch import load_file
print(len(load_file(sys.argv[1])))
"""
PICTURE = ".js-plotly-plot .heatmaplayer image"


def imports() -> float:
    """Seconds to import PyTorch and Streamlit and to read the parameters."""
    file = store.require(MODEL) / "model.safetensors"
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", ALONE, str(file)], check=True, capture_output=True)
    return time.perf_counter() - start


def heatmap(browser: Browser) -> tuple[float, float]:
    """Seconds until the page is there, and until its first heatmap is drawn."""
    address = free_address()
    host, port = address.split(":")
    options = [f"--server.port={port}", f"--server.address={host}", "--server.headless=true"]
    command = [sys.executable, "-m", "attention_lab.ui.serve", *options]
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    start = time.perf_counter()
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        while not _answers(f"http://{address}/_stcore/health"):
            time.sleep(0.02)
        page.goto(f"http://{address}", wait_until="commit")
        page.locator("[data-testid=stSidebarNavLink]").first.wait_for(timeout=120_000)
        there = time.perf_counter() - start
        page.locator(PICTURE).first.wait_for(timeout=120_000)
        return there, time.perf_counter() - start
    finally:
        page.context.close()
        server.terminate()
        server.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def main(rounds: int = 5) -> None:
    """Measure in turn, print a table, and write benchmarks/results/start.json."""
    alone: list[float] = []
    there: list[float] = []
    drawn: list[float] = []
    with chromium() as browser:
        heatmap(browser)  # the files are in the system's memory from here on, for both
        imports()
        for _round in range(rounds):
            alone.append(imports())
            page, picture = heatmap(browser)
            there.append(page)
            drawn.append(picture)
    row = {
        "model": MODEL,
        "imports and parameters, s": median(alone),
        "page is there, s": median(there),
        "first heatmap, s": median(drawn),
        "ratio": median(drawn) / median(alone),
    }
    each = [f"{a:.2f} → {d:.2f}" for a, d in zip(alone, drawn, strict=True)]
    notes = [f"Round by round, imports → heatmap: {', '.join(each)}", "Chromium was open already."]
    report("start", "Cold start, medians of seconds", [row], notes)


if __name__ == "__main__":
    typer.run(main)
