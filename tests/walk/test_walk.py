"""The walk against the model, against a hand-calculated case, and the script that is taken away."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from attention_lab.errors import InputError
from attention_lab.tracing.record import trace
from attention_lab.walk.inputs import of_trace
from attention_lab.walk.numbers import compute
from attention_lab.walk.script import captured, deviations, export, numbers, script
from attention_lab.walk.stages import walk
from attention_lab.walk.toy import Toy, random_toy, toy_inputs, words_of
from tests.factories import tiny_model

TEXT = "the cat sat on the mat because it was tired ."
VARIANTS = {
    "encoder": {"kind": "encoder", "norm_place": "post"},
    "decoder": {"kind": "decoder", "position": "rotary", "norm": "rms", "n_kv_heads": 2},
    "alibi": {"kind": "decoder", "position": "alibi"},
    "translator": {"kind": "encoder-decoder", "norm_place": "post"},
    "translator, pre-norm": {"kind": "encoder-decoder", "norm_place": "pre"},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_recomputation_agrees_with_the_model(name: str) -> None:
    model = tiny_model(**VARIANTS[name])
    both = model.config.kind == "encoder-decoder"
    found = trace(model, TEXT, target="猫 追 老 鼠" if both else None)
    for site in found.sites:
        stages = walk(of_trace(found, site), head=1, query=2, key=1)
        worst = deviations(stages, captured(found, site, 1, 2))
        assert len(worst) == 10
        assert max(worst.values()) < 1e-5, (site, worst)


def test_a_wrong_number_is_noticed() -> None:
    found = trace(tiny_model("encoder"), TEXT)
    model_numbers = captured(found, "encoder.0.self", 0, 2)
    model_numbers["z"] = model_numbers["z"] + 0.01
    worst = deviations(walk(of_trace(found, "encoder.0.self"), 0, 2, 1), model_numbers)
    assert worst["z"] == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("name", ["encoder", "decoder", "translator"])
def test_the_copied_script_makes_every_number_again(name: str, tmp_path: Path) -> None:
    model = tiny_model(**VARIANTS[name])
    both = model.config.kind == "encoder-decoder"
    found = trace(model, TEXT, target="猫 追" if both else None, mask=None if both else "causal")
    site = found.sites[-1]
    inputs = of_trace(found, site)
    stages = walk(inputs, 1, 2, 0)
    (tmp_path / "walk.npz").write_bytes(export(inputs, stages, 1, 2, 0))
    (tmp_path / "walk.py").write_text(script(stages, "walk.npz"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "walk.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert {line[0] for line in lines} == {*numbers(stages), "all"}
    assert all(float(line[-1]) < 1e-5 for line in lines)


def test_the_script_fails_to_agree_when_a_parameter_is_changed(tmp_path: Path) -> None:
    found = trace(tiny_model("encoder"), TEXT)
    inputs = of_trace(found, "encoder.0.self")
    stages = walk(inputs, 0, 1, 2)
    arrays = dict(np.load(_file(tmp_path, export(inputs, stages, 0, 1, 2))))
    arrays["w_v"] = arrays["w_v"] + 0.1
    np.savez(tmp_path / "walk.npz", **arrays)
    (tmp_path / "walk.py").write_text(script(stages, "walk.npz"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "walk.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert float(done.stdout.split()[-1]) > 1e-3


def _file(folder: Path, content: bytes) -> Path:
    path = folder / "walk.npz"
    path.write_bytes(content)
    return path


def test_stages_come_in_the_order_of_the_paper_and_shapes_are_true() -> None:
    found = trace(tiny_model("encoder"), TEXT)
    stages = walk(of_trace(found, "encoder.1.self"), 0, 1, 2)
    keys = ["x", "qkv", "products", "scores", "mask", "softmax", "z", "concat", "output"]
    assert [stage.key for stage in stages] == [*keys, "residual", "norm"]
    for stage in stages:
        assert (
            tuple(stage.outcome.shape)[-len(stage.after[1]) :] == stage.after[1]
            or not stage.after[1]
        )


def test_toy_equals_a_case_calculated_by_hand() -> None:
    # x = two unit vectors; W_Q picks (1, 0, 0) for both words, W_K gives keys (3, 0, 0) and
    # (0, 0, 0), W_V gives values (1, 2, 3) and (5, 6, 7), W_O keeps the three and adds none.
    w_q, w_k, w_v = np.zeros((4, 3)), np.zeros((4, 3)), np.zeros((4, 3))
    w_q[0, 0] = w_q[1, 0] = 1
    w_k[0, 0] = 3
    w_v[0], w_v[1] = (1, 2, 3), (5, 6, 7)
    toy = Toy(np.eye(2, 4), w_q, w_k, w_v, np.eye(3, 4))
    found = compute(toy_inputs(toy, n_heads=1, is_causal=False), head=0, query=1, key=0)
    assert found["products"].tolist() == [3, 0, 0]
    assert float(found["dot"]) == 3
    root = math.sqrt(3)  # 3 / √3
    assert found["scores"].tolist() == [[pytest.approx(root), 0], [pytest.approx(root), 0]]
    first = math.exp(root) / (math.exp(root) + 1)  # 0.8497
    assert found["weights"].tolist() == pytest.approx([first, 1 - first], abs=1e-12)
    z = [first * a + (1 - first) * b for a, b in ((1, 5), (2, 6), (3, 7))]
    assert found["z"].tolist() == pytest.approx(z, abs=1e-12)
    assert found["residual"][1].tolist() == pytest.approx([z[0], 1 + z[1], z[2], 0], abs=1e-12)


def test_toy_mask_and_heads() -> None:
    found = compute(toy_inputs(random_toy(3, 2, 1), 2, is_causal=True), 1, 0, 0)
    assert found["weights"].tolist() == [1, 0, 0]
    assert found["concat"].shape == (3, 6)


def test_an_edited_cell_changes_the_outcome() -> None:
    toy = random_toy(2, 1, 0)
    before = compute(toy_inputs(toy, 1, False), 0, 0, 0)["attn_out"]
    toy.w_v[0, 0] += 1
    after = compute(toy_inputs(toy, 1, False), 0, 0, 0)["attn_out"]
    assert not torch.equal(before, after)


@pytest.mark.parametrize("text", ["", "one", "a b c d e f", "   "])
def test_a_toy_of_too_few_or_many_words_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="2 to 5 words"):
        words_of(text)


def test_an_empty_cell_is_refused() -> None:
    toy = random_toy(2, 1, 0)
    toy.w_k[1, 1] = np.nan
    with pytest.raises(InputError, match="w_k needs a number"):
        toy_inputs(toy, 1, False)


@pytest.mark.pulled
@pytest.mark.parametrize(
    ("name", "site"), [("minilm", "encoder.3.self"), ("smollm2", "decoder.18.self")]
)
def test_real_models(name: str, site: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(name)
    found = trace(model, "The animal didn't cross the street because it was too tired.")
    stages = walk(of_trace(found, site), 1, 5, 2)
    model_numbers = captured(found, site, 1, 5)
    for key, worst in deviations(stages, model_numbers).items():
        size = max(1.0, float(np.abs(np.nan_to_num(model_numbers[key], neginf=0)).max()))
        assert worst < 1e-5 * size, key
