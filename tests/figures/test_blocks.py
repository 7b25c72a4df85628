"""The drawing of a model: its real sizes, boxes that do not overlap, text that is not markup."""

import re
from typing import Any

import pytest

from attention_lab.figures.blocks import blocks
from tests.factories import tiny_config
from tests.figures.helpers import read

BERT: dict[str, Any] = {
    "position": "learned",
    "n_segments": 2,
    "embed_norm": True,
    "norm_place": "post",
    "final_norm": False,
}
LLAMA: dict[str, Any] = {"position": "rotary", "norm": "rms", "n_kv_heads": 2}
CONFIGS = {
    "encoder": tiny_config("encoder"),
    "bert": tiny_config("encoder", **BERT),
    "llama": tiny_config("decoder", activation="silu_gated", tie_embeddings=True, **LLAMA),
    "encoder-decoder": tiny_config("encoder-decoder"),
    "post-norm encoder-decoder": tiny_config("encoder-decoder", norm_place="post"),
}


def drawn(name: str) -> tuple[list[str], dict[str, Any]]:
    config = CONFIGS[name]
    n_target = 5 if config.kind == "encoder-decoder" else None
    figure = read(blocks(config, 9, n_target))
    texts = [re.sub(r"<.*?>", " ", text) for text in figure["data"][0]["text"]]
    return texts, figure["layout"]


def test_an_encoder_shows_its_sizes_from_the_tokens_up() -> None:
    texts, layout = drawn("bert")
    config = CONFIGS["bert"]
    said = " | ".join(texts)
    assert "(1, 9)" in texts[0]
    assert f"{config.d_vocab} × 16" in texts[1]
    assert "64 learned positions + segments" in texts[2]
    assert "4 heads × 4" in said
    assert "16 → 32 → 16, relu" in said
    assert "(1, 9, 16)" in texts[-1]
    assert "Masked" not in said
    assert any(a["text"] == "<b>× 2</b>" for a in layout["annotations"])


def test_a_llama_shows_grouped_heads_rotary_positions_and_its_shared_table() -> None:
    said = " | ".join(drawn("llama")[0])
    assert "Masked self-attention (rotary)" in said
    assert "2 for keys and values" in said
    assert "table shared" in said
    assert "RMSNorm" in said
    assert "silu" in said


@pytest.mark.parametrize("name", ["encoder-decoder", "post-norm encoder-decoder"])
def test_an_encoder_decoder_has_cross_attention_in_its_decoder_only(name: str) -> None:
    texts, layout = drawn(name)
    assert sum("Cross-attention" in text for text in texts) == 1
    assert sum("Masked self-attention" in text for text in texts) == 1
    assert sum("source tokens" in text for text in texts) == 1
    assert sum(a["text"] == "<b>× 2</b>" for a in layout["annotations"]) == 2


@pytest.mark.parametrize("name", CONFIGS)
def test_norms_stand_where_the_config_puts_them(name: str) -> None:
    texts, _layout = drawn(name)
    before = texts.index(next(t for t in texts if "elf-attention" in t)) - 1
    is_norm = "Norm" in texts[before]
    pre = CONFIGS[name].norm_place == "pre"
    assert is_norm is (pre or CONFIGS[name].embed_norm)


@pytest.mark.parametrize("name", CONFIGS)
def test_boxes_do_not_overlap_and_lie_inside_the_picture(name: str) -> None:
    _texts, layout = drawn(name)
    shapes = [s for s in layout["shapes"] if s["type"] in ("rect", "circle") and "fillcolor" in s]
    (low, high), (left, right) = layout["yaxis"]["range"], layout["xaxis"]["range"]
    for i, a in enumerate(shapes):
        assert left <= a["x0"] < a["x1"] <= right
        assert low <= a["y0"] < a["y1"] <= high
        for b in shapes[i + 1 :]:
            apart = a["y1"] <= b["y0"] or b["y1"] <= a["y0"]
            assert apart or a["x1"] <= b["x0"] or b["x1"] <= a["x0"]


@pytest.mark.parametrize("name", CONFIGS)
def test_every_sublayer_has_its_residual_connection(name: str) -> None:
    texts, layout = drawn(name)
    adds = sum(text.strip() == "+" for text in texts)
    sublayers = sum("ttention" in text or "Feed-forward" in text for text in texts)
    assert adds == sublayers
    circles = sum(shape["type"] == "circle" for shape in layout["shapes"])
    assert circles == adds
