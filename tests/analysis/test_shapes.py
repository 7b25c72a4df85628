"""The shape trace: every module in order, with shapes that follow from the letters."""

import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

import attention_lab as lab
from attention_lab.analysis.letters import sizes
from attention_lab.analysis.shapes import Row, shape_trace, statistics, to_frame, twin
from attention_lab.model.points import Point
from attention_lab.zoo import store
from attention_lab.zoo.loaded import Model
from tests.conftest import pulled
from tests.factories import tiny_model

TEXT = "the cat sat on the mat ."
BERT: dict[str, Any] = {
    "position": "learned",
    "n_segments": 2,
    "embed_norm": True,
    "norm_place": "post",
    "final_norm": False,
    "activation": "gelu",
}
LLAMA: dict[str, Any] = {
    "position": "rotary",
    "norm": "rms",
    "activation": "silu_gated",
    "n_kv_heads": 2,
    "attention_bias": False,
    "mlp_bias": False,
    "tie_embeddings": True,
}
MODELS = {
    "encoder": tiny_model("encoder"),
    "bert": tiny_model("encoder", **BERT),
    "segments without positions": tiny_model("encoder", n_segments=2),
    "decoder": tiny_model("decoder", d_head=5),
    "llama": tiny_model("decoder", **LLAMA),
    "alibi": tiny_model("decoder", position="alibi"),
    "encoder-decoder": tiny_model("encoder-decoder"),
    "tied encoder-decoder": tiny_model("encoder-decoder", tie_embeddings=True, embed_scale=True),
}


def rows_of(model: Model, text: str = TEXT) -> tuple[tuple[Row, ...], dict[str, int]]:
    """The shape trace of a text, and the number of each letter."""
    target = "a dog" if model.target_tokenizer is not None else None
    trace = lab.trace(model, text, target=target)
    ids = trace.target_tokens.ids if trace.target_tokens is not None else None
    n_target = None if ids is None else len(ids)
    return shape_trace(model, trace.tokens.ids, ids), sizes(
        model.config, len(trace.tokens), n_target
    )


@pytest.fixture(params=MODELS, scope="module")
def case(request: pytest.FixtureRequest) -> tuple[Model, tuple[Row, ...], dict[str, int]]:
    model = MODELS[request.param]
    return model, *rows_of(model)


def value(letters: str, numbers: dict[str, int]) -> int:
    """ "n_heads · d_head" with its numbers."""
    return math.prod(
        int(part) if part.isdecimal() else numbers[part] for part in letters.split(" · ")
    )


def test_letters_and_numbers_say_the_same(case: Any) -> None:
    _model, rows, numbers = case
    for row in rows:
        pairs = [
            *zip(row.before, row.before_numbers, strict=True),
            (row.after, row.after_numbers),
        ]
        for letters, shape in pairs:
            assert tuple(value(letter, numbers) for letter in letters) == shape, row


def test_parameters_add_up_to_the_models(case: Any) -> None:
    model, rows, _numbers = case
    assert sum(row.parameters for row in rows) == sum(
        p.numel() for p in model.module.state_dict().values()
    )


def test_every_module_that_ran_is_there_in_order(case: Any) -> None:
    """An independent count: hooks of our own on every module, in the order they begin."""
    model, rows, _numbers = case
    module, began = twin(model), list[str]()
    for name, child in module.named_modules():
        child.register_forward_pre_hook(lambda _m, _a, name=name: began.append(name))
    trace = lab.trace(model, TEXT, target="a dog" if model.target_tokenizer else None)
    target = trace.target_tokens
    with torch.inference_mode():
        module(
            torch.tensor([trace.tokens.ids]), None if target is None else torch.tensor([target.ids])
        )
    extra = {"view", "transpose", "linear"}  # steps between modules
    found = [row.name for row in rows if row.kind not in extra and not row.name.endswith("segment")]
    assert found == [name.replace(".at.", ".") for name in began]


def test_splitting_and_merging_heads_are_shown_as_view_and_transpose() -> None:
    rows, _numbers = rows_of(MODELS["llama"])
    steps = [(r.kind, r.after_numbers) for r in rows if r.name == "decoder.layers.0.self_attn.k"]
    assert steps == [
        ("view", (1, 7, 2, 4)),
        ("transpose", (1, 2, 7, 4)),
        ("Point", (1, 2, 7, 4)),
    ]
    steps = [(r.kind, r.after_numbers) for r in rows if r.name == "decoder.layers.0.self_attn.z"]
    assert steps == [
        ("Point", (1, 4, 7, 4)),
        ("transpose", (1, 7, 4, 4)),
        ("view", (1, 7, 16)),
    ]


def test_views_move_no_number() -> None:
    rows, _numbers = rows_of(MODELS["encoder"])
    own = [
        r
        for r in rows
        if r.name in ("encoder.layers.0.self_attn.w_q", "encoder.layers.0.self_attn.q")
    ]
    assert [r.kind for r in own] == ["Linear", "view", "transpose", "Point"]
    assert len({(r.mean, r.smallest, r.largest) for r in own}) <= 2  # means may round
    assert len({(r.smallest, r.largest) for r in own}) == 1


def test_statistics_are_those_of_the_trace() -> None:
    model = MODELS["llama"]
    rows, _numbers = rows_of(model)
    site = lab.trace(model, TEXT)["decoder.1.self"]
    by_name = {row.name: row for row in rows if row.kind == "Point"}
    for stage in ("q", "scores", "weights"):
        row, array = by_name[f"decoder.layers.1.self_attn.{stage}"], site.stage(stage)
        assert row.mean == pytest.approx(array.mean(dtype=np.float64), abs=1e-6)
        assert row.std == pytest.approx(array.std(dtype=np.float64), rel=1e-5)
        assert (row.smallest, row.largest) == (array.min(), array.max())
        assert row.non_finite == 0
    masked = by_name["decoder.layers.1.self_attn.masked_scores"]
    assert masked.non_finite == 4 * (7 * 6 // 2)  # heads × cells above the diagonal
    assert math.isfinite(masked.mean)


def test_statistics_of_nothing_finite_are_not_numbers() -> None:
    found = statistics(torch.full((2, 3), -math.inf))
    assert found[4] == 6
    assert all(math.isnan(number) for number in found[:4])


def test_the_models_own_module_is_never_touched() -> None:
    model = MODELS["bert"]
    before = {name: value.data_ptr() for name, value in model.module.state_dict().items()}
    copy = twin(model)
    rows_of(model)
    assert {n: v.data_ptr() for n, v in model.module.state_dict().items()} == before
    assert {n: v.data_ptr() for n, v in copy.state_dict().items()} == before  # shared, not copied
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.module.modules())
    assert sum(isinstance(m, Point) for m in copy.modules()) > 0


def test_the_table_has_a_row_for_each_step_and_plain_names() -> None:
    rows, _numbers = rows_of(MODELS["encoder-decoder"])
    table = to_frame(rows)
    assert len(table) == len(rows)
    first = table.iloc[0]
    assert first["module"] == "model"
    assert first["input letters"] == "(batch, source), (batch, target)"
    assert first["input"] == "(1, 8), (1, 3)"
    cross = table[table["module"] == "decoder.layers.0.cross_attn.weights"].iloc[0]
    assert cross["output letters"] == "(batch, n_heads, target, source)"
    assert cross["output"] == "(1, 4, 3, 8)"


@pytest.mark.pulled
@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_the_total_is_that_of_the_checkpoint_file(name: str) -> None:
    """Counted in the file, without this project's code."""
    model = pulled(name)
    with safe_open(store.place(name) / "model.safetensors", framework="np") as file:
        expected = sum(math.prod(file.get_slice(key).get_shape()) for key in file.keys())  # noqa: SIM118
    rows, _numbers = rows_of(model, "The cat sat.")
    assert sum(row.parameters for row in rows) == expected
    layers = {found[0] for row in rows if (found := re.search(r"layers\.\d+", row.name))}
    assert len(layers) == model.config.n_layers


@given(
    st.lists(
        st.one_of(st.floats(-1e3, 1e3, width=32), st.sampled_from([math.inf, -math.inf, math.nan])),
        min_size=1,
        max_size=30,
    )
)
def test_statistics_agree_with_numpy(numbers: list[float]) -> None:
    found = statistics(torch.tensor(numbers, dtype=torch.float32))
    finite = np.array([x for x in numbers if math.isfinite(x)], np.float64)
    assert found[4] == len(numbers) - len(finite)
    if len(finite):
        np.testing.assert_allclose(found[:2], [finite.mean(), finite.std()], atol=2e-3)
        assert found[2:4] == (finite.min(), finite.max())
