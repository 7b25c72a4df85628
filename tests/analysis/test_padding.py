"""The numbers of the padding view: masks with their real sizes, each sentence against itself."""

from typing import Any

import numpy as np
import pytest

import attention_lab as lab
from attention_lab.analysis.padding import padding_study
from attention_lab.config import Kind
from tests.factories import tiny_model

TEXTS = ("the animal did not cross the street", "the cat sat .", "a dog")
LLAMA: dict[str, Any] = {"position": "rotary", "n_kv_heads": 2}


@pytest.mark.parametrize(
    ("kind", "changes"), [("encoder", {}), ("decoder", LLAMA), ("encoder-decoder", {})]
)
def test_a_sentence_does_not_notice_its_company(kind: Kind, changes: dict[str, Any]) -> None:
    model = tiny_model(kind, **changes)
    study = padding_study(model, TEXTS)
    length = study.own.shape[0]
    assert study.padding.shape == (3, 1, 1, length)
    assert study.both.shape == (3, 4, length, length)
    assert study.on_left == (kind == "decoder")
    for row, each in enumerate(study.texts):
        assert each.n_real == study.padding[row].sum() == sum(x != "·" for x in each.labels)
        assert len(each.labels) == length
        assert each.off_masked <= 1e-5
        if each.n_real < length:
            assert each.off_unmasked > 0.01
            assert 0.01 < each.on_padding < 1
        for head in range(4):
            cells = study.both[row, head]
            for q in range(length):
                for k in range(length):
                    is_open = study.padding[row, 0, 0, k] and (kind != "decoder" or k <= q)
                    assert cells[q, k] == is_open


def test_the_differences_are_those_of_the_engine() -> None:
    model = tiny_model("encoder")
    study = padding_study(model, TEXTS)
    batch = lab.trace_batch(model, TEXTS, mask="none")
    alone = lab.trace(model, TEXTS[2]).hidden
    off = np.abs(batch.output(2) - alone).max() / np.abs(alone).max()
    assert study.texts[2].off_unmasked == pytest.approx(off)
    on_padding = [batch.weights(s)[2][:, :4, 4:].sum(-1).mean() for s in batch.captured]
    assert study.texts[2].on_padding == pytest.approx(np.mean(on_padding), rel=1e-5)


def test_a_causal_mask_hides_padding_on_the_right() -> None:
    study = padding_study(tiny_model("decoder", position="learned"), TEXTS)
    assert not study.on_left
    assert all(each.off_unmasked <= 1e-5 and each.on_padding == 0 for each in study.texts)


def test_long_texts_are_cut_and_counted() -> None:
    study = padding_study(tiny_model("encoder"), TEXTS, limit=5)
    assert study.own.shape == (5, 5)
    assert [each.left_out for each in study.texts] == [4, 1, 0]
    assert all(each.off_masked <= 1e-5 for each in study.texts)
