"""A tiny run of the real command, trained once for all tests that need its folder."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from attention_lab.training import cli, phrasebook
from attention_lab.training.corpus import Pair
from attention_lab.training.recipe import Recipe

TINY = {
    "d_model": 16,
    "n_layers": 2,
    "n_heads": 2,
    "english_vocabulary": 300,
    "chinese_vocabulary": 250,
    "n_average": 2,
    "batch_tokens": 400,
}
CORPUS = (
    "I'm cold.\t我好冷。\tCC\nGo away!\t走開!\tCC\nGo away!\t走開。\tCC\nHe ran.\t他跑了。\tCC\n"
    "We know him.\t我们认识他。\tCC\nIt's late.\t很晚了。\tCC\n"
)


def tiny_recipe(**changes: object) -> Recipe:
    return Recipe(**{**TINY, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def corpus_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "corpus.tsv"
    path.write_text(CORPUS, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def heldout_file(corpus_file: Path) -> Path:
    path = corpus_file.with_name("heldout.txt")
    path.write_text("go away\nWe know him.\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def few_phrases() -> list[Pair]:
    return phrasebook.pairs()[::40]


@pytest.fixture(scope="session")
def tiny_run(
    tmp_path_factory: pytest.TempPathFactory,
    corpus_file: Path,
    heldout_file: Path,
    few_phrases: list[Pair],
) -> Path:
    """The folder after two epochs of `train translator`."""
    folder = tmp_path_factory.mktemp("run") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "Recipe", tiny_recipe)
        patch.setattr(phrasebook, "pairs", lambda: few_phrases)
        words = ["translator", "--corpus", str(corpus_file), "--heldout", str(heldout_file)]
        words += ["--out", str(folder), "--epochs", "2"]
        result = CliRunner().invoke(cli.train_app, words)
    assert result.exit_code == 0, result.output
    assert "Best held-out loss" in result.stdout
    return folder
