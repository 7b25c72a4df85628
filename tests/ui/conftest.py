"""Tiny models under the names of the registry, so that the pages need nothing pulled."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from attention_lab.ui import runs
from attention_lab.zoo import native, store
from attention_lab.zoo.loaded import Model
from tests.factories import tiny_model

MODELS = {
    "minilm": tiny_model("encoder", seed=1, n_layers=6, n_heads=5, n_kv_heads=5),
    "smollm2": tiny_model("decoder", seed=2, n_layers=14, n_heads=9, n_kv_heads=3),
}


def write(folder: Path, model: Model) -> None:
    """A model as the app stores it."""
    folder.mkdir(parents=True)
    state = model.module.state_dict()
    native.write(folder, native.Parts(model.config, state, model.tokenizer.to_str(), model.card))


@pytest.fixture(scope="session")
def _models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    for name, model in MODELS.items():
        write(home / "models" / name, model)
    return home


@pytest.fixture(autouse=True)
def home(_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the pulled models for this test; nothing is bundled."""
    monkeypatch.setenv("ATTENTION_LAB_HOME", str(_models))
    monkeypatch.setattr(store, "ASSETS", tmp_path / "bundled")
    forget()
    yield _models
    forget()


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of models that this test may spoil: empty at first."""
    monkeypatch.setenv("ATTENTION_LAB_HOME", str(tmp_path / "own"))
    forget()
    return tmp_path / "own"


def forget() -> None:
    """Empty the caches that all sessions share."""
    st.cache_resource.clear()
    for cached in (runs.run, runs.write):
        cached.cache.clear()
