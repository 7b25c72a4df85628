"""Models that are missing or broken: the page says what to do and stays usable."""

from pathlib import Path

import pytest

from attention_lab.errors import SourceError
from attention_lab.ui import pull
from attention_lab.zoo import store
from tests.ui.conftest import MODELS, write
from tests.ui.helpers import Explore

COMMAND = "python -m attention_lab models pull "


def commands(page: Explore) -> list[str]:
    return [code.value for code in page.app.code if code.value.startswith("python -m")]


def test_without_any_model_the_page_says_what_to_do(own_home: Path) -> None:
    page = Explore()
    assert "No model is here yet" in page.texts
    assert commands(page) == [COMMAND + "minilm", COMMAND + "smollm2"]
    assert not page.charts
    labels = [button.label for button in page.app.button]
    assert labels == ["Pull it now (84 MB)", "Pull it now (93 MB)"]


def test_a_model_that_is_not_pulled_is_offered_beside_the_others(own_home: Path) -> None:
    write(own_home / "models" / "minilm", MODELS["minilm"])
    page = Explore()
    assert commands(page) == [COMMAND + "smollm2"]
    assert len(page.charts) == 2
    page = Explore({"model": "smollm2"})
    assert page.widget("model").value == "minilm"
    assert "smollm2" in page.app.warning[0].value


def test_the_button_pulls(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def puller(name: str, watcher: store.Watcher, force: bool = False) -> bool:
        watcher.stage("Downloading", 100)
        watcher.progress(50)
        watcher.note("The first source does not answer.")
        write(own_home / "models" / name, MODELS[name])
        return True

    monkeypatch.setattr(pull.store, "pull", puller)
    page = Explore().click("pull_minilm")
    assert page.widget("model").value == "minilm"
    assert len(page.charts) == 2


def test_a_pull_that_fails_is_one_sentence(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def puller(name: str, watcher: store.Watcher, force: bool = False) -> bool:
        raise SourceError("Nobody gives *minilm*.")

    monkeypatch.setattr(pull.store, "pull", puller)
    page = Explore().click("pull_minilm")
    assert "Nobody gives *minilm*." in page.texts
    assert [button.key for button in page.app.button] == ["pull_minilm", "pull_smollm2"]


def spoil(path: Path) -> None:
    """Other bytes, the same size: a quick look does not see it."""
    path.write_bytes(b"\x00" * path.stat().st_size)


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_model_that_cannot_be_loaded_leaves_the_page_up(own_home: Path, file: str) -> None:
    for name in MODELS:
        write(own_home / "models" / name, MODELS[name])
    spoil(own_home / "models" / "minilm" / file)
    page = Explore()
    (error,) = page.app.main.get("error")  # the sidebar may be folded away
    assert file in error.value.replace("\\", "")
    assert not page.charts
    page.set(model="smollm2")
    assert len(page.charts) == 2
    assert not page.app.error


def test_a_broken_card_hides_no_other_model(own_home: Path) -> None:
    for name in MODELS:
        write(own_home / "models" / name, MODELS[name])
    spoil(own_home / "models" / "smollm2" / "card.json")
    page = Explore()
    assert len(page.charts) == 2
    page.set(model="smollm2")
    assert "card.json" in page.texts
