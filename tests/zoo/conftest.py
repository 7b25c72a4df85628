"""A cache of its own for each test, and a tiny model as a wheel and on a hub."""

import os
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest

from attention_lab.zoo import registry, store
from attention_lab.zoo.registry import Hub, Wheel
from tests.zoo.helpers import (
    StandInHub,
    files_of,
    make_entry,
    make_wheel,
    oracle,
    save,
    serve,
    sha256,
)

NOWHERE = "http://127.0.0.1:9"  # the port of "discard": nothing listens there


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and nothing bundled."""
    monkeypatch.setenv("ATTENTION_LAB_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(store, "ASSETS", tmp_path / "assets")
    return tmp_path / "home"


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny BERT."""
    return save(oracle("bert"), tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture
def wheel(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wheel:
    """The tiny BERT as a wheel, which pip finds in a local folder and nowhere else."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    path = make_wheel(wheels, tiny)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return Wheel("tiny-data", "1.0", sha256(path), files_of(tiny, "tiny_data/model/"))


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package index that refuses connections."""
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://user:secret@{NOWHERE.removeprefix('http://')}")


def use_endpoint(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """What HF_ENDPOINT does in a process that starts with it."""
    constants = huggingface_hub.constants
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.removeprefix(constants.ENDPOINT)
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + template)


@pytest.fixture
def hub(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInHub]:
    """A hub that has the tiny BERT as "someone/tiny"."""
    stand_in = StandInHub({"someone/tiny": tiny})
    with serve(stand_in) as endpoint:
        use_endpoint(monkeypatch, endpoint)
        yield stand_in


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    use_endpoint(monkeypatch, NOWHERE)


@pytest.fixture
def hub_source(tiny: Path) -> Hub:
    return Hub("someone/tiny", "main", files_of(tiny, ""))


@pytest.fixture
def entry(home: Path, wheel: Wheel, monkeypatch: pytest.MonkeyPatch) -> registry.Entry:
    """ "tiny" in the registry, to be pulled from the wheel."""
    made = make_entry(wheel)
    monkeypatch.setitem(registry.ENTRIES, "tiny", made)
    return made
