import re
import subprocess
import sys
from pathlib import Path

import pytest

from attention_lab.training import evaluation, phrasebook
from attention_lab.training.corpus import Pair
from attention_lab.training.phrasebook import Phrase
from tests.factories import tiny_model


def test_scores_are_those_of_sacrebleus_own_command(tmp_path: Path) -> None:
    found = ["猫追老鼠。", "我不喜欢咖啡。", "他有两只狗。"]
    references = [
        ["猫追赶老鼠。", "那只猫追老鼠。"],
        ["我不喜欢喝咖啡。"],
        ["他有两条狗。", "他有两只狗。"],
    ]
    files = [tmp_path / f"ref{i}" for i in range(2)]
    for i, file in enumerate(files):
        lines = [own[min(i, len(own) - 1)] for own in references]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "out").write_text("\n".join(found) + "\n", encoding="utf-8")
    words = ["-m", "sacrebleu", *map(str, files), "-i", str(tmp_path / "out"), "-m", "bleu", "chrf"]
    done = subprocess.run(
        [sys.executable, *words, "-tok", "zh", "-b", "-w", "4"],
        capture_output=True,
        text=True,
        check=True,
    )
    bleu, chrf = map(float, re.findall(r"\d+\.\d+", done.stdout))
    score = evaluation.measure(found, references)
    assert score.bleu == pytest.approx(bleu, abs=1e-3)
    assert score.chrf == pytest.approx(chrf, abs=1e-3)
    assert evaluation.measure(["猫追赶老鼠。"], references[:1]).bleu == pytest.approx(100)


def test_judging_ignores_punctuation_alone() -> None:
    assert evaluation.bare("那只猫，追 老鼠。") == "那只猫追老鼠"
    model = tiny_model("encoder-decoder")
    judged = evaluation.judge_workshop(model)
    assert [j.english for j in judged] == list(phrasebook.workshop())
    assert not any(j.right for j in judged)  # random parameters


def test_word_spans() -> None:
    text = "The cat didn't run."
    assert [text[a:b] for a, b in evaluation.word_spans(text)] == [
        "The",
        "cat",
        "didn't",
        "run",
        ".",
    ]


def test_alignment_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cross-attention that is put there: row r of the target looks at column `looks[r]`."""
    import numpy as np

    model = tiny_model("encoder-decoder", n_layers=2)
    english, chinese = "the cat sat", "猫 追 狗"
    # Tokens: the cat sat </s>; <s> 猫 追 狗. The row that writes 猫 is <s>, that of 狗 is 追.
    phrase = Phrase(Pair(english, chinese), (((4, 7), (0, 1)), ((8, 11), (4, 5))), 0)
    real = evaluation.trace

    class Looking:
        def __init__(self, looks: dict[str, list[int]]) -> None:
            run = real(model, english, target=chinese)
            self.tokens, self.target_tokens = run.tokens, run.target_tokens
            self.looks = looks

        def __getitem__(self, site: str) -> "Looking":
            self.weights = np.eye(4, dtype=np.float32)[self.looks[site]][None]
            return self

    looks = {"decoder.0.cross": [1, 0, 2, 0], "decoder.1.cross": [1, 0, 3, 0]}
    monkeypatch.setattr(evaluation, "trace", lambda *_a, **_k: Looking(looks))
    found = evaluation.align(model, [phrase])
    assert found.n_words == 2
    assert found.by_layer == (1.0, 0.5)
    assert (found.layer, found.best) == (0, 1.0)
