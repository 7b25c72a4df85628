import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from attention_lab.training import checkpoints, cli, phrasebook
from attention_lab.training.corpus import Pair


def train(*words: object) -> Result:
    return CliRunner().invoke(cli.train_app, ["translator", *map(str, words)])


def failed(result: Result, sentence: str) -> None:
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    (line,) = result.stderr.strip().splitlines()
    assert sentence in line


def test_the_run_folder(tiny_run: Path) -> None:
    assert {path.name for path in tiny_run.iterdir()} == {
        "best.safetensors",
        "checkpoint.safetensors",
        "chinese.json",
        "data.sha256",
        "english.json",
        "epochs",
        "log.jsonl",
        "recipe.json",
    }
    records = [json.loads(line) for line in (tiny_run / "log.jsonl").read_text().splitlines()]
    fields = {"step", "epoch", "loss", "learning_rate", "gradient_norm", "tokens_per_second"}
    assert set(records[0]) == fields
    assert [record["epoch"] for record in records if "event" in record] == [0, 1]


def test_resume_goes_on(
    tiny_run: Path,
    corpus_file: Path,
    heldout_file: Path,
    few_phrases: list[Pair],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    for name in ("best.safetensors", "checkpoint.safetensors", "recipe.json", "log.jsonl"):
        (folder / name).write_bytes((tiny_run / name).read_bytes())
    for name in ("english.json", "chinese.json", "data.sha256"):
        (folder / name).write_bytes((tiny_run / name).read_bytes())
    monkeypatch.setattr(phrasebook, "pairs", lambda: few_phrases)
    files = ["--corpus", corpus_file, "--heldout", heldout_file, "--out", folder]
    result = train(*files, "--epochs", 3, "--resume")
    assert result.exit_code == 0, result.output
    _tensors, state = checkpoints.read_tensors(folder / "checkpoint.safetensors")
    assert state["epoch"] == 3
    failed(train(*files), "--resume")
    other = tmp_path / "other.tsv"
    other.write_text("Hi there.\t你好啊。\nShe swam far.\t她游得很远。\n", encoding="utf-8")
    failed(train("--corpus", other, "--out", folder, "--resume"), "began with another corpus")


def test_errors_are_one_sentence(tmp_path: Path, corpus_file: Path) -> None:
    failed(train("--corpus", tmp_path / "none.tsv", "--out", tmp_path), "cannot be read")
    words = ["--corpus", corpus_file, "--heldout", tmp_path / "none.txt", "--out", tmp_path]
    failed(train(*words), "cannot be read")
    failed(train("--corpus", corpus_file, "--out", tmp_path, "--resume"), "no trained translator")


def test_evaluate_prints_every_figure(
    tiny_run: Path, corpus_file: Path, heldout_file: Path
) -> None:
    words = ["--corpus", corpus_file, "--heldout", heldout_file, "--model", tiny_run, "--show"]
    result = CliRunner().invoke(cli.evaluate_app, list(map(str, words)))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("2 held-out sentences, ")
    assert lines[1].startswith("greedy  BLEU ")
    assert lines[2].startswith("beam 4  BLEU ")
    assert len(lines) == 5 + len(phrasebook.workshop())


def test_export_writes_a_model_that_loads(
    tiny_run: Path, corpus_file: Path, heldout_file: Path, tmp_path: Path
) -> None:
    from attention_lab.zoo import load

    folder = tmp_path / "shipped"
    folder.mkdir()
    (folder / "stale.txt").write_text("old")
    history = tmp_path / "history.md"
    history.write_text("## How it grew\n", encoding="utf-8")
    words = ["export", folder, "--corpus", corpus_file, "--heldout", heldout_file]
    words += ["--history", history]
    result = CliRunner().invoke(cli.train_app, [*map(str, words), "--out", str(tiny_run)])
    assert result.exit_code == 0, result.output
    assert {path.name for path in folder.iterdir()} == {
        "README.md",
        "card.json",
        "config.json",
        "manifest.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer.target.json",
    }
    assert {path.name for path in tmp_path.iterdir()} == {"shipped", "history.md"}
    card = (folder / "README.md").read_text(encoding="utf-8")
    for fact in (
        "CC BY 2.0 FR",
        "tatoeba.org",
        "manythings.org",
        "2 held-out",
        "phrasebook",
        "How it grew",
    ):
        assert fact in card
    assert "{" not in card
    model = load(folder)
    assert model.config.norm_place == "post"
    assert model.card.eos_id == model.tokenizer.token_to_id("[EOS]")
