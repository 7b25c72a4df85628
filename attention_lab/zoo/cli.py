"""`python -m attention_lab models …`: list, pull, verify and remove models."""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from attention_lab.errors import LabError
from attention_lab.i18n import _
from attention_lab.zoo import store
from attention_lab.zoo.registry import ENTRIES, Entry

models_app = typer.Typer(help="List, pull, verify and remove models.", no_args_is_help=True)
Names = Annotated[list[str], typer.Argument(help="Names of models, as `list` shows them.")]


class ProgressBars(store.Watcher):
    """A bar for each stage of a pull."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None

    def stage(self, text: str, total: int) -> None:
        """Start a new bar."""
        self._task = self._progress.add_task(text, total=total)

    def progress(self, done: int) -> None:
        """Move the bar."""
        if self._task is not None:
            self._progress.update(self._task, completed=done)

    def note(self, message: str) -> None:
        """A line above the bars."""
        self._progress.console.print(message, markup=False, highlight=False, soft_wrap=True)


@models_app.command("list")
def list_models() -> None:
    """Show every model: its kind, size, licence, and whether it is here."""
    table = Table(box=None, pad_edge=False)
    for heading in (_("name"), _("kind"), _("download"), _("licence"), _("state")):
        table.add_column(heading, no_wrap=True)
    for entry in ENTRIES.values():
        size = f"{entry.size / 1e6:.0f} MB" if entry.size else "–"
        table.add_row(entry.name, _(entry.kind), size, entry.licence, _state(entry))
    Console().print(table)


def _state(entry: Entry) -> str:
    if not store.is_here(entry.name):
        return _("not available") if entry.is_bundled else _("not pulled")
    return _("bundled") if entry.is_bundled else _("pulled")


@models_app.command("pull")
def pull_models(
    names: Names,
    force: Annotated[bool, typer.Option(help="Pull it again although it is here.")] = False,
) -> None:
    """Download, check and convert models into the local cache."""

    def pull(name: str) -> str:
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
            new = store.pull(name, ProgressBars(progress), force)
        message = _("{name}: pulled into {folder}.") if new else _("{name}: already here.")
        return message.format(name=name, folder=store.place(name))

    _for_each(names, pull)


@models_app.command("verify")
def verify_models(names: Names) -> None:
    """Compare the files of models with the SHA-256 noted when they were converted."""

    def verify(name: str) -> str:
        store.verify(name)
        return _("{name}: every file and parameter is as it should be.").format(name=name)

    _for_each(names, verify)


@models_app.command("remove")
def remove_models(names: Names) -> None:
    """Delete pulled models from the local cache."""

    def remove(name: str) -> str:
        store.remove(name)
        return _("{name}: removed.").format(name=name)

    _for_each(names, remove)


def _for_each(names: list[str], do: Callable[[str], str]) -> None:
    """Do it for each name, also after one that fails; then the exit code is 1."""
    failed = False
    for name in names:
        try:
            typer.echo(do(name))
        except LabError as error:
            typer.echo(str(error), err=True)
            failed = True
    if failed:
        raise typer.Exit(1)
