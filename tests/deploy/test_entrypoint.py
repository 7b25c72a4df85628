"""What `docker run attention-lab …` starts."""

import os
import subprocess
from pathlib import Path

import pytest

ENTRYPOINT = Path(__file__).resolve().parents[2] / "deploy" / "entrypoint.sh"
SERVE = "-m attention_lab.ui.serve"


@pytest.mark.parametrize(
    ("words", "started"),
    [
        ([], SERVE),
        (["serve"], SERVE),
        (["serve", "--server.maxMessageSize=80"], f"{SERVE} --server.maxMessageSize=80"),
        (["models", "list"], "-m attention_lab models list"),
        (["--help"], "-m attention_lab --help"),
        (["python", "-c", "print(1)"], "-c print(1)"),
    ],
)
def test_the_words_decide(tmp_path: Path, words: list[str], started: str) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    run = subprocess.run(
        ["sh", str(ENTRYPOINT), *words],
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == started
