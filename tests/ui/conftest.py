"""Tiny models under the names of the registry, so that the pages need nothing pulled."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from attention_lab.ui import runs
from attention_lab.ui.look_up import look_up
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


@pytest.fixture(autouse=True)
def _app_runs_around_its_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a server once its first session has run app.py; AppTest forgets it before each run."""
    real = PagesManager.__init__

    def init(self: PagesManager, *arguments: object, **options: object) -> None:
        real(self, *arguments, **options)  # type: ignore[arg-type]
        PagesManager.uses_pages_directory = False

    monkeypatch.setattr(PagesManager, "__init__", init)


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of models that this test may spoil: empty at first."""
    monkeypatch.setenv("ATTENTION_LAB_HOME", str(tmp_path / "own"))
    forget()
    return tmp_path / "own"


def forget() -> None:
    """Empty the caches that all sessions share."""
    st.cache_resource.clear()
    look_up.cache_clear()
    for cached in (runs.load_model, runs.run, runs.write):
        cached.cache.clear()
