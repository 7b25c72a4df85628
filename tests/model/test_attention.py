"""The written-out attention against PyTorch's own, and its rules on random inputs."""

import math
from collections.abc import Mapping

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attention_lab.model import attention, masks
from attention_lab.model.attention import Attention
from attention_lab.model.points import observing
from tests.factories import Recorder, tiny_config

CLOSE = {"rtol": 0.0, "atol": 1e-5}
LENGTHS = st.integers(1, 17)


def written_out(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, bias: Tensor | None) -> Tensor:
    scores = attention.scaled_scores(q, k, bias)
    weights = attention.softmax_rows(attention.apply_mask(scores, mask))
    return attention.weighted_sum(weights, v)


def random_mask(n_query: int, n_key: int, share: float, generator: torch.Generator) -> Tensor:
    """A share of the cells open; some rows closed altogether."""
    return torch.rand(1, 1, n_query, n_key, generator=generator) < share


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Tensor | None]:
    batch, groups, kv_heads = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, 3)),
        draw(st.integers(1, 3)),
    )
    n_query, n_key, d_head = draw(LENGTHS), draw(LENGTHS), draw(st.integers(1, 9))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))

    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    heads = groups * kv_heads
    return {
        "q": random(batch, heads, n_query, d_head),
        "k": random(batch, kv_heads, n_key, d_head),
        "v": random(batch, kv_heads, n_key, d_head),
        "mask": random_mask(n_query, n_key, draw(st.sampled_from([0.1, 0.5, 1.0])), generator),
        "bias": random(heads, n_query, n_key) if draw(st.booleans()) else None,
    }


def fused(case: Mapping[str, Tensor]) -> Tensor:
    """PyTorch's kernel; mask and bias are one float tensor there, and groups an option."""
    both = torch.zeros(case["mask"].shape).masked_fill(~case["mask"], -math.inf)
    if case["bias"] is not None:
        both = both + case["bias"]
    return scaled_dot_product_attention(case["q"], case["k"], case["v"], both, enable_gqa=True)


@given(cases())
def test_attention_equals_the_fused_kernel(case: dict[str, Tensor]) -> None:
    torch.testing.assert_close(written_out(**case), fused(case), **CLOSE)


@pytest.mark.parametrize("n_query", [1, 7, 64])
def test_causal_attention_equals_the_fused_kernel(n_query: int) -> None:
    q, k, v = torch.randn(3, 2, 4, n_query, 8)
    ours = written_out(q, k, v, masks.causal(n_query, n_query)[None, None], None)
    torch.testing.assert_close(ours, scaled_dot_product_attention(q, k, v, is_causal=True), **CLOSE)


@given(cases())
def test_rows_sum_to_one_or_to_zero_and_closed_cells_are_zero(case: dict[str, Tensor]) -> None:
    """Field note 8: a fully masked row is all zeros, never NaN."""
    scores = attention.scaled_scores(case["q"], case["k"], case["bias"])
    weights = attention.softmax_rows(attention.apply_mask(scores, case["mask"]))
    mask = case["mask"].expand(weights.shape)
    expected = mask.any(dim=-1).float()
    torch.testing.assert_close(weights.sum(dim=-1), expected, **CLOSE)
    assert (weights[~mask] == 0).all()
    assert (weights >= 0).all()


@given(cases())
def test_masked_scores_are_the_scores_with_minus_infinity(case: dict[str, Tensor]) -> None:
    """Field note 18: the scores themselves never hold the mask."""
    scores = attention.scaled_scores(case["q"], case["k"], case["bias"])
    masked = attention.apply_mask(scores, case["mask"])
    mask = case["mask"].expand(scores.shape)
    assert scores.isfinite().all()
    assert torch.equal(masked[mask], scores[mask])
    assert (masked[~mask] == -math.inf).all()


def test_very_large_scores_do_not_overflow() -> None:
    weights = attention.softmax_rows(torch.tensor([[[1e30, -1e30, 1e30]]]))
    assert weights.tolist() == [[[0.5, 0.0, 0.5]]]


@given(LENGTHS, st.integers(1, 5), st.integers(1, 5))
def test_heads_split_into_neighbouring_columns_and_merge_back(
    length: int, n_heads: int, d_head: int
) -> None:
    x = torch.randn(2, length, n_heads * d_head)
    heads = attention.split_heads(x, n_heads)
    for h in range(n_heads):
        assert torch.equal(heads[:, h], x[:, :, h * d_head : (h + 1) * d_head])
    assert torch.equal(attention.merge_heads(heads), x)


def test_a_key_value_head_serves_its_group_of_neighbouring_query_heads() -> None:
    k = torch.randn(2, 3, 5, 4)  # 3 key/value heads for 6 query heads
    shared = attention.share_heads(k, 6)
    for h in range(6):
        assert torch.equal(shared[:, h], k[:, h // 2])


def test_heads_attend_over_positions_and_never_over_heads() -> None:
    """Field notes, "A known bug to recognise": weights of shape (…, head, head).

    Splitting by reshape and multiplying without moving the head axis in front runs and trains, and
    each position then sees itself alone: moving another position changes nothing.
    """
    config = tiny_config(n_heads=4, n_kv_heads=4)
    block = Attention(config, "encoder.0.self")
    x = torch.randn(1, 9, config.d_model)
    recorder = Recorder()
    with torch.inference_mode(), observing(recorder):
        before = block(x, x, masks.none(9, 9)[None, None])
        assert recorder["encoder.0.self.weights"].shape == (1, 4, 9, 9)
        x[:, 8] += 1
        after = block(x, x, masks.none(9, 9)[None, None])
    assert not torch.allclose(before[:, 0], after[:, 0])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_a_module_equals_multihead_attention(bias: bool, causal: bool) -> None:
    """Cross-attention with padding, against `torch.nn.MultiheadAttention`: output and weights."""
    config = tiny_config(attention_bias=bias, n_heads=2, n_kv_heads=2, d_head=8)
    ours = Attention(config, "decoder.0.cross").eval()
    theirs = nn.MultiheadAttention(config.d_model, 2, bias=bias, batch_first=True).eval()
    theirs.in_proj_weight.data = torch.cat([ours.w_q.weight, ours.w_k.weight, ours.w_v.weight])
    theirs.out_proj.weight.data = ours.w_o.weight.data
    if bias:
        theirs.in_proj_bias.data = torch.cat([ours.w_q.bias, ours.w_k.bias, ours.w_v.bias])
        theirs.out_proj.bias.data = ours.w_o.bias.data
    x, context = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    real = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    mask = masks.padding(real)
    if causal:
        mask = mask & masks.causal(5, 7)
    recorder = Recorder()
    with torch.inference_mode(), observing(recorder):
        out = ours(x, context, mask.expand(2, 1, 5, 7))
    expected, weights = theirs(
        x,
        context,
        context,
        key_padding_mask=~real,
        attn_mask=~masks.causal(5, 7) if causal else None,
        average_attn_weights=False,
    )
    torch.testing.assert_close(out, expected, **CLOSE)
    torch.testing.assert_close(recorder["decoder.0.cross.weights"], weights, **CLOSE)


def test_one_mask_for_all_queries_broadcasts() -> None:
    """`masks.padding` has a query axis of 1; attention takes it as it is."""
    config = tiny_config()
    block = Attention(config, "encoder.0.self").eval()
    x = torch.randn(2, 5, config.d_model)
    mask = masks.padding(torch.tensor([[True] * 5, [True, True, False, False, False]]))
    torch.testing.assert_close(block(x, x, mask), block(x, x, mask.expand(2, 1, 5, 5)))


def test_weights_are_captured_before_dropout() -> None:
    """Field note 7: after dropout rows would not sum to 1, and weights could be above 1."""
    config = tiny_config(dropout=0.5)
    block = Attention(config, "encoder.0.self").train()
    x = torch.randn(1, 9, config.d_model)
    recorder = Recorder()
    with torch.no_grad(), observing(recorder):
        first, second = (block(x, x, masks.none(9, 9)[None, None]) for _ in range(2))
    assert not torch.equal(first, second)  # dropout does act
    weights = recorder["encoder.0.self.weights"]
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(1, 4, 9), **CLOSE)


@given(LENGTHS, st.integers(1, 4), st.integers(1, 5))
def test_the_heads_results_sum_to_the_projection(length: int, n_heads: int, d_head: int) -> None:
    z, w_o = torch.randn(n_heads, length, d_head), torch.randn(7, n_heads * d_head)
    summed = attention.head_results(z, w_o).sum(dim=0)
    expected = attention.merge_heads(z[None])[0] @ w_o.T
    torch.testing.assert_close(summed, expected, rtol=0, atol=1e-4)
