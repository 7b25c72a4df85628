"""From a click to the repainted picture, in Chromium."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUMS = (os.environ.get("CHROMIUM", "chromium"), "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]

# The large picture is the last one. Its numbers tell a change; two frames later it is painted.
CHANGE = """async (step) => {
  const input = [...document.querySelectorAll('[data-testid="stNumberInput"]')]
    .find((element) => element.innerText.startsWith('Head'));
  const shown = () => {
    const rows = [...document.querySelectorAll('.js-plotly-plot')].at(-1)?.calcdata?.[0]?.[0]?.z;
    return rows ? [...rows].map((row) => [...row].join()).join() : null;
  };
  const frame = () => new Promise(requestAnimationFrame);
  const before = shown(), start = performance.now();
  input.querySelector(`[data-testid="stNumberInputStep${step}"]`).click();
  while (shown() === null || shown() === before) {
    await frame();
    if (performance.now() - start > 30000) throw new Error('the picture did not change');
  }
  await frame();
  await frame();
  return performance.now() - start;
}"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of this machine. Raises `RuntimeError` without one."""
    found = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if found is None:
        raise RuntimeError("Chromium is needed: install it, or name it in the variable CHROMIUM.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def pages(urls: dict[str, str]) -> Iterator[dict[str, Page]]:
    """Each URL in a context of its own, with its pictures drawn. Raises `RuntimeError`."""
    with chromium() as browser:
        opened = {}
        for name, url in urls.items():
            size = {"width": 1280, "height": 800}
            opened[name] = browser.new_context(viewport=size).new_page()  # type: ignore[arg-type]
            opened[name].goto(url)
            opened[name].locator(".js-plotly-plot .heatmaplayer image").nth(1).wait_for(
                timeout=120_000
            )
        yield opened


def change_head(page: Page, up: bool) -> float:
    """Choose the next head, or the one before; milliseconds until its picture is painted."""
    page.bring_to_front()
    taken: float = page.evaluate(CHANGE, "Up" if up else "Down")
    return taken
