"""Parameters and multiply-adds, counted once more by others: the state dict and PyTorch."""

from typing import Any

import pandas as pd
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import attention_lab as lab
from attention_lab.analysis import costs
from attention_lab.analysis.costs import Term
from attention_lab.analysis.shapes import twin
from attention_lab.zoo.loaded import Model
from tests.factories import tiny_model

LLAMA: dict[str, Any] = {
    "n_kv_heads": 2,
    "activation": "silu_gated",
    "norm": "rms",
    "tie_embeddings": True,
}
MODELS = {
    "encoder": tiny_model("encoder", d_head=6, n_segments=2, position="learned"),
    "decoder": tiny_model("decoder"),
    "llama": tiny_model("decoder", **LLAMA),
    "encoder-decoder": tiny_model("encoder-decoder", n_kv_heads=2),
}


@pytest.mark.parametrize("name", MODELS)
def test_parameters_by_part_add_up(name: str) -> None:
    module = MODELS[name].module
    table = costs.parameter_table(module)
    assert table["parameters"].sum() == sum(p.numel() for p in module.state_dict().values())
    assert not table.duplicated(["stack", "part"]).any()


def test_each_parameter_has_its_part() -> None:
    table = costs.parameter_table(MODELS["encoder"].module).set_index("part")["parameters"]
    c = MODELS["encoder"].config
    assert table["embedding"] == c.d_vocab * c.d_model
    assert table["positions"] == c.max_positions * c.d_model
    assert table["segments"] == 2 * c.d_model
    width = c.n_heads * c.d_head
    assert table["self-attention"] == 2 * (4 * c.d_model * width + 3 * width + c.d_model)
    assert table["feed-forward"] == 2 * (2 * c.d_model * c.d_ff + c.d_ff + c.d_model)
    assert table["norms"] == (2 * 2 + 1) * 2 * c.d_model


def counted(model: Model, n_source: int, n_target: int | None) -> int:
    """Multiply-adds as PyTorch's own counter sees them: half of its floating-point operations."""
    module = twin(model)
    ids = torch.ones(1, n_source, dtype=torch.int64)
    target = None if n_target is None else torch.ones(1, n_target, dtype=torch.int64)
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        module(ids, target)
    return int(counter.get_total_flops()) // 2


@pytest.mark.parametrize("n", [1, 7, 20])
@pytest.mark.parametrize("name", MODELS)
def test_multiply_adds_are_those_that_pytorch_counts(name: str, n: int) -> None:
    model = MODELS[name]
    n_target = n + 3 if model.config.kind == "encoder-decoder" else None
    table = costs.work_table(model.config, n, n_target)
    assert table["multiply-adds"].sum() == counted(model, n, n_target)


def test_a_term_is_written_and_computed_from_the_same_letters() -> None:
    term = Term(2, ("n_layers", "length", "length", "d_head"))
    assert str(term) == "2 · n_layers · length² · d_head"
    assert term.value({"n_layers": 3, "length": 5, "d_head": 7}) == 2 * 3 * 25 * 7
    assert str(Term(1, ("length", "d_model"))) == "length · d_model"


def test_scores_grow_with_the_square_and_the_rest_in_proportion() -> None:
    table = costs.growth(MODELS["decoder"].config, [10, 20])
    ratio = table.loc[20] / table.loc[10]
    assert ratio["scores and mix"] == 4
    assert (ratio.drop("scores and mix") == 2).all()


@pytest.mark.parametrize("name", ["encoder", "decoder", "llama"])
def test_the_crossover_is_where_scores_begin_to_cost_more(name: str) -> None:
    config = MODELS[name].config
    n = costs.crossover(config)
    table = costs.growth(config, [n - 1, n])
    is_more = table["scores and mix"] > table["projections"]
    pd.testing.assert_series_equal(is_more, pd.Series([False, True], index=table.index))


@pytest.mark.pulled
def test_minilm_in_numbers(minilm: Model) -> None:
    n = len(lab.trace(minilm, "The cat sat.").tokens)
    table = costs.work_table(minilm.config, n).set_index("part")["multiply-adds"]
    assert table["projections"] == 6 * n * 4 * 384 * 384
    assert table["feed-forward"] == 6 * n * 2 * 384 * 1536
    assert costs.parameter_table(minilm.module)["parameters"].sum() == 22_565_376
