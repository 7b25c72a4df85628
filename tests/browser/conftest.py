"""A real Chromium, the running app, and pages that report what a user would not see."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

ROOT = Path(__file__).resolve().parents[2]
CI = os.environ.get("CI") == "true"
CHROMIUMS = (
    os.environ.get("CHROMIUM", "chromium"),
    *("chromium-browser", "google-chrome", "google-chrome-stable"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
# Without these Chromium looks up hosts of its maker at every start.
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
LOG = pytest.StashKey[Path]()

SECONDS = 60.0  # a busy machine paints late; a test that passes waits no longer than it must
expect.set_options(timeout=1000 * SECONDS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is a browser test."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the app's log with a browser test that failed."""
    report = yield
    log = item.config.stash.get(LOG, None)
    if report.failed and log:
        report.sections.append(("the app's log", log.read_text(errors="replace")[-6_000:]))
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, as installed on this machine; `CHROMIUM` names another."""
    found = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if not found:
        reason = "Browser tests need Chromium: install it, or name it in the variable CHROMIUM."
        (pytest.fail if CI else pytest.skip)(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def app_url(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[str]:
    """The address of the app, running as `make run` starts it but on a port of its own."""
    log = request.config.stash[LOG] = tmp_path_factory.mktemp("app") / "app.log"
    with running_app(log) as url:
        yield url


@contextmanager
def running_app(log: Path, port: int = 0) -> Iterator[str]:
    """A server of its own, from start to end; yields its address. Port 0: any that is free."""
    with socket.create_server(("127.0.0.1", port)) as free:
        port = free.getsockname()[1]
    options = [f"--server.port={port}", "--server.address=127.0.0.1", "--server.headless=true"]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", *options]
    url = f"http://127.0.0.1:{port}"
    with (
        log.open("wb") as sink,
        subprocess.Popen(command, cwd=ROOT, stdout=sink, stderr=subprocess.STDOUT) as app,
    ):
        try:
            wait_until_healthy(url, app, log)
            yield url
        finally:
            app.terminate()
            try:
                app.wait(10)
            except subprocess.TimeoutExpired:
                app.kill()


@pytest.fixture
def fresh_url(tmp_path: Path) -> Iterator[str]:
    """The address of a server that nobody has visited yet."""
    with running_app(tmp_path / "app.log") as url:
        yield url


def wait_until_healthy(url: str, app: subprocess.Popen[bytes], log: Path) -> None:
    """Return once the app answers; fail with its log when it ends or takes too long."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and app.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"The app did not start:\n{log.read_text(errors='replace')[-6_000:]}")


@pytest.fixture
def new_page(
    browser: Browser, app_url: str, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Page]]:
    """Open a page in a browser context of its own, as another person's browser would.

    Options are those of `Browser.new_context`, e.g. `color_scheme="dark"`. At the end no page may
    have logged an error or asked another host for anything, and the app no traceback.
    """
    log = request.config.stash[LOG]
    logged_before = log.stat().st_size
    contexts: list[BrowserContext] = []
    outside: list[str] = []
    errors: list[str] = []

    def see(url: str) -> None:
        address = urlsplit(url)
        if address.scheme not in {"data", "blob"} and address.netloc != urlsplit(app_url).netloc:
            outside.append(url)

    def hear(line: ConsoleMessage) -> None:
        # On a page below the root, Streamlit first looks for its server below that page.
        is_search = "/_stcore/" in line.location["url"] and "404" in line.text
        if line.type == "error" and not is_search:
            errors.append(line.text)

    def open_page(**options: object) -> Page:
        settings = {"viewport": {"width": 1280, "height": 800}, "base_url": app_url, **options}
        context = browser.new_context(**settings)  # type: ignore[arg-type]
        contexts.append(context)
        context.set_default_timeout(1000 * SECONDS)
        context.on("request", lambda sent: see(sent.url))
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", hear)
        return page

    yield open_page
    for context in contexts:
        context.close()
    with log.open("rb") as file:
        file.seek(logged_before)
        logged = file.read().decode(errors="replace")
    assert not outside
    assert not errors
    assert "Traceback" not in logged


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """A page at 1280 × 800."""
    return new_page()
