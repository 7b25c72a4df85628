"""The lines on the Masks page run and give its numbers; conventions as libraries have them."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.attention.flex_attention import create_mask
from torch.nn.functional import scaled_dot_product_attention

import attention_lab as lab
from attention_lab.analysis import mask_cost, mask_ways
from attention_lab.clinic.exhibit import source
from attention_lab.config import Kind
from attention_lab.model import masks
from tests.factories import tiny_model
from tests.tracing.helpers import run

CAUSAL = torch.ones(6, 6, dtype=torch.bool).tril()


def as_shown(function: Any) -> Any:
    """The function made of nothing but the text on the page."""
    names: dict[str, Any] = {**vars(mask_ways), **vars(mask_cost), **vars(masks)}
    exec(source(function), names)
    return names[function.__name__]


@pytest.fixture
def scores() -> torch.Tensor:
    return torch.randn(6, 6, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("spec", ["none", "causal", "window:1", "global:2", "causal^cells:3.0"])
def test_the_lines_of_attention_give_the_trace(kind: Kind, spec: str) -> None:
    trace = run(tiny_model(kind), mask=spec)
    attend = as_shown(mask_ways.attend)
    for name in trace.sites:
        site = trace[name]
        for head in range(4):
            q, k, v = (torch.tensor(x[head]) for x in (site.q, site.k, site.v))
            z = attend(q, k, v, torch.tensor(site.mask[0]))
            np.testing.assert_allclose(z.numpy(), site.z[head], atol=1e-5)


def test_the_lines_of_each_preset_give_its_mask() -> None:
    for function, arguments, name in (
        (masks.none, (), "none"),
        (masks.causal, (), "causal"),
        (masks.window, (2,), "window:2"),
        (masks.dilated, (2, 3), "dilated:2:3"),
        (masks.prefix, (4,), "prefix:4"),
        (masks.blocks, ([3, 2],), "blocks:3,2"),
        (masks.global_tokens, ([0, 5],), "global:0,5"),
    ):
        found = as_shown(function)(9, 9, *arguments)
        expected = masks.build(name, torch.ones(9, dtype=torch.bool), 9)[0]
        assert torch.equal(found, expected)


def test_the_lines_of_padding_broadcast_to_every_head() -> None:
    ids = torch.tensor([[5, 6, 7], [8, 0, 0]])
    found = as_shown(mask_ways.padding_mask)(ids, 0, CAUSAL[:3, :3], 4)
    assert found.shape == (2, 4, 3, 3)
    for row, n_real in enumerate((3, 1)):
        for head in range(4):
            cells = [[k <= q and k < n_real for k in range(3)] for q in range(3)]
            assert found[row, head].tolist() == cells


def test_all_ways_say_the_same(scores: torch.Tensor) -> None:
    blocked, infinity, billion = as_shown(mask_ways.in_all_ways)(CAUSAL)
    expected = scores.masked_fill(~CAUSAL, -math.inf).softmax(-1)
    for weights in (
        as_shown(mask_ways.true_attends)(scores, CAUSAL),
        as_shown(mask_ways.true_blocks)(scores, blocked),
        as_shown(mask_ways.is_added)(scores, infinity),
        as_shown(mask_ways.is_added)(scores, billion),
    ):
        torch.testing.assert_close(weights, expected, rtol=0, atol=0)


def test_the_lines_of_the_leak_test_and_of_the_blocks() -> None:
    moved = as_shown(mask_ways.moved_by)(
        lambda ids: ids[..., None].float().cumsum(1), torch.tensor([[1, 2, 3]]), 1, 5
    )
    assert moved.tolist() == [[0, 3, 3]]
    assert as_shown(mask_cost.blocks_kept)(CAUSAL, 3).tolist() == [[True, False], [True, True]]


def test_mix_ups_by_their_numbers(scores: torch.Tensor) -> None:
    right = mask_ways.true_attends(scores, CAUSAL)
    assert mask_ways.unwanted(right, CAUSAL) == (0, 0)
    share, broken = mask_ways.unwanted(mask_ways.true_blocks(scores, CAUSAL), CAUSAL)
    assert (share, broken) == (1, 1)  # only the future, and the last row has none
    share, broken = mask_ways.unwanted(mask_ways.is_added(scores, CAUSAL), CAUSAL)
    assert broken == 0
    assert 0.1 < share < 0.5  # an open cell counts e times as much, and that is all


# What the page says of libraries, asked of those that are here.


def test_pytorch_function_takes_true_as_open_and_adds_floats(scores: torch.Tensor) -> None:
    q, k, v = torch.randn(3, 1, 6, 8, generator=torch.Generator().manual_seed(1))
    expected = mask_ways.attend(q[0], k[0], v[0], CAUSAL)
    _blocked, infinity, billion = mask_ways.in_all_ways(CAUSAL)
    for mask in (CAUSAL, infinity, billion):
        found = scaled_dot_product_attention(q, k, v, attn_mask=mask)[0]
        torch.testing.assert_close(found, expected)


def test_pytorch_module_takes_true_as_blocked_and_adds_floats() -> None:
    torch.manual_seed(0)
    module = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(1, 6, 8)
    blocked, infinity, _billion = mask_ways.in_all_ways(CAUSAL)
    for mask in (blocked, infinity):
        weights = module(x, x, x, attn_mask=mask)[1][0]
        assert (weights[blocked] == 0).all()
        assert (weights[CAUSAL] > 0).all()
    real = torch.tensor([[True] * 4 + [False] * 2])
    weights = module(x, x, x, key_padding_mask=~real)[1][0]
    assert (weights[:, 4:] == 0).all()
    assert (weights[:, :4] > 0).all()


def test_flex_attention_takes_true_as_open() -> None:
    found = create_mask(lambda b, h, q, k: q >= k, 1, 1, 6, 6, device="cpu")
    assert torch.equal(found[0, 0], CAUSAL)


def test_hugging_face_takes_one_as_real_and_adds_the_smallest_number() -> None:
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=20,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        attn_implementation="eager",
    )
    model = BertModel(config).eval()
    real = torch.tensor([[1, 1, 1, 0, 0]])
    with torch.inference_mode():
        out = model(torch.tensor([[5, 6, 7, 0, 0]]), attention_mask=real, output_attentions=True)
    weights = out.attentions[0][0]
    assert (weights[..., 3:] == 0).all()
    assert (weights[..., :3] > 0).all()
    from transformers.masking_utils import create_bidirectional_mask

    embeddings = torch.zeros(1, 5, 16)
    added = create_bidirectional_mask(config, embeddings, real)
    assert added is not None
    assert added[0, 0, 0].tolist() == [0, 0, 0, *[torch.finfo(torch.float32).min] * 2]


def test_the_inverted_mask_by_its_name_is_that_of_the_whole_model() -> None:
    trace = lab.trace(tiny_model("encoder"), "the cat sat", mask="causal^none")
    n = len(trace.tokens)
    for site in trace.sites:
        assert trace[site].mask[0].tolist() == [[k > q for k in range(n)] for q in range(n)]
