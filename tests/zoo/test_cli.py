"""The command line: what it prints, its exit codes, and never a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from attention_lab.zoo import store
from attention_lab.zoo.cli import models_app
from attention_lab.zoo.registry import ENTRIES, Entry


def run(*words: str) -> Result:
    return CliRunner().invoke(models_app, words, env={"COLUMNS": "100"})


def failed(result: Result, *sentences: str) -> None:
    """Exit code 1, and nothing but these sentences on stderr."""
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    lines = result.stderr.strip().splitlines()
    assert len(lines) == len(sentences)
    assert all(sentence in line for line, sentence in zip(lines, sentences, strict=True))


@pytest.mark.usefixtures("home")
def test_list_shows_every_model_and_its_state() -> None:
    result = run("list")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == 1 + len(ENTRIES)
    assert [line.split()[0] for line in lines[1:]] == list(ENTRIES)
    assert "not available" in lines[1]
    assert "84 MB" in lines[2]
    assert "not pulled" in lines[2]


def test_pull_verify_remove(entry: Entry) -> None:
    assert "tiny: pulled into" in run("pull", "tiny").stdout
    assert run("pull", "tiny").stdout == "tiny: already here.\n"
    assert run("list").stdout.splitlines()[-1].split()[-1] == "pulled"
    assert "as it should be" in run("verify", "tiny").stdout
    assert run("remove", "tiny").stdout == "tiny: removed.\n"
    failed(run("verify", "tiny"), "models pull tiny")


def test_pull_shows_progress(entry: Entry) -> None:
    said = run("pull", "tiny").stderr
    assert "Downloading tiny" in said
    assert "Converting tiny" in said
    assert "100%" in said


def test_a_changed_file_is_a_failure(entry: Entry) -> None:
    run("pull", "tiny")
    (store.place("tiny") / "card.json").write_text("{}")
    failed(run("verify", "tiny"), "models pull tiny")  # its size tells already
    run("pull", "tiny")
    card = store.place("tiny") / "card.json"
    card.write_text(card.read_text().replace("Tiny", "Tina"))
    failed(run("verify", "tiny"), "card.json")


@pytest.mark.usefixtures("home")
def test_every_name_is_tried_and_any_failure_is_the_exit_code(entry: Entry) -> None:
    result = run("pull", "nonsense", "tiny", "translator-en-zh")
    assert result.exit_code == 1
    assert "There is no model 'nonsense'" in result.stderr
    assert "translator-en-zh is not part" in result.stderr
    assert "tiny: pulled" in result.stdout


@pytest.mark.usefixtures("home", "no_index")
def test_without_a_network_the_command_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real entry, in a process of its own, with index and hub out of reach."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "attention_lab", "models", "pull", "minilm"],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("The model minilm cannot be pulled. The package index does not answer")
    assert "hub does not answer" in last
    assert "secret" not in done.stderr
