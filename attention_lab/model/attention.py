"""Attention(Q, K, V) = softmax(QKᵀ / √d_k) V, one step a line, each step at a named point.

Shapes: b batch, h query heads, g key/value heads (g divides h), q queries, k keys, d = d_head;
#: may be 1 and then serves all.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_lab.config import ModelConfig
from attention_lab.model import positions
from attention_lab.model.cache import KeyValueCache
from attention_lab.model.points import Point

POINTS = ("q", "k", "v", "scores", "mask", "masked_scores", "weights", "z", "attn_out")


def split_heads(
    x: Float[Tensor, "b position width"], n_heads: int
) -> Float[Tensor, "b head position d"]:
    """(…, heads · d_head) → heads in front of positions, so that each head works on its own."""
    batch, length, width = x.shape
    return x.view(batch, length, n_heads, width // n_heads).transpose(1, 2)


def merge_heads(z: Float[Tensor, "b head position d"]) -> Float[Tensor, "b position width"]:
    """The inverse of `split_heads`: heads side by side again."""
    return z.transpose(1, 2).flatten(-2)


def share_heads(
    x: Float[Tensor, "*b g position d"], n_heads: int
) -> Float[Tensor, "*b h position d"]:
    """Repeat each key/value head for the group of query heads it serves (GQA, section 2.2)."""
    groups = n_heads // x.shape[-3]
    return x if groups == 1 else x.repeat_interleave(groups, dim=-3)


def scaled_scores(
    q: Float[Tensor, "*b h q d"],
    k: Float[Tensor, "*b g k d"],
    bias: Float[Tensor, "h q k"] | None = None,
) -> Float[Tensor, "*b h q k"]:
    """q·kᵀ / √d_head, plus any position bias; the mask is not in it."""
    scores = q @ share_heads(k, q.shape[-3]).mT
    scores /= math.sqrt(q.shape[-1])
    return scores if bias is None else scores + bias


def apply_mask(
    scores: Float[Tensor, "*b h q k"], mask: Bool[Tensor, "*#b #h #q k"]
) -> Float[Tensor, "*b h q k"]:
    """`scores` with -inf where `mask` is False."""
    if mask.all():
        return scores
    return scores + torch.where(mask, 0.0, -math.inf)  # to fill each head is four times as slow


def softmax_rows(masked_scores: Float[Tensor, "*b h q k"]) -> Float[Tensor, "*b h q k"]:
    """The softmax over keys. A row with no open key is all zeros (softmax alone gives NaN)."""
    weights = masked_scores.softmax(dim=-1)
    if not weights[..., 0].isnan().any():  # NaN fills its row: one column tells
        return weights
    closed = masked_scores.amax(dim=-1, keepdim=True) == -math.inf
    return weights.masked_fill(closed, 0.0)


def weighted_sum(
    weights: Float[Tensor, "*b h q k"], v: Float[Tensor, "*b g k d"]
) -> Float[Tensor, "*b h q d"]:
    """Each query's mix of the values."""
    return weights @ share_heads(v, weights.shape[-3])


def head_results(
    z: Float[Tensor, "h position d"], w_o: Float[Tensor, "d_model width"]
) -> Float[Tensor, "h position d_model"]:
    """What each head adds: z_h times its part of W_O. With the bias they sum to `attn_out`."""
    n_heads, _, d_head = z.shape
    per_head = w_o.view(-1, n_heads, d_head).permute(1, 2, 0)  # h × d × d_model
    return torch.matmul(z, per_head)


class Attention(nn.Module):
    """Multi-head attention ("Attention Is All You Need", section 3.2), key/value heads grouped."""

    def __init__(self, config: ModelConfig, site: str) -> None:
        super().__init__()
        self.site = site
        self.n_heads, self.n_kv_heads = config.n_heads, config.n_kv_heads
        width, kv_width = config.n_heads * config.d_head, config.n_kv_heads * config.d_head
        bias = config.attention_bias
        self.w_q = nn.Linear(config.d_model, width, bias)
        self.w_k = nn.Linear(config.d_model, kv_width, bias)
        self.w_v = nn.Linear(config.d_model, kv_width, bias)
        self.w_o = nn.Linear(width, config.d_model, bias)
        self.dropout = nn.Dropout(config.dropout)
        self.at = nn.ModuleDict({name: Point(f"{site}.{name}") for name in POINTS})

    def forward(
        self,
        x: Float[Tensor, "b q d_model"],
        context: Float[Tensor, "b k d_model"],
        mask: Bool[Tensor, "#b #h #q all_k"],
        turn: Float[Tensor, "2 q d"] | None = None,
        bias: Float[Tensor, "h q all_k"] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "b q d_model"]:
        """Queries from `x`, keys and values from `context` (the same for self-attention)."""
        q = split_heads(self.w_q(x), self.n_heads)  # b h q d
        if turn is not None:
            q = positions.rotate(q, turn)
        k, v = self._keys_values(x, context, turn, cache)  # b g k d
        q, k, v = self.at["q"](q), self.at["k"](k), self.at["v"](v)
        scores = self.at["scores"](scaled_scores(q, k, bias))  # b h q k
        mask = self.at["mask"](mask)
        masked_scores = self.at["masked_scores"](apply_mask(scores, mask))
        weights = self.at["weights"](softmax_rows(masked_scores))  # captured before dropout
        z = self.at["z"](weighted_sum(self.dropout(weights), v))  # b h q d
        out: Tensor = self.at["attn_out"](self.w_o(merge_heads(z)))  # b q d_model
        return out

    def _keys_values(
        self, x: Tensor, context: Tensor, turn: Tensor | None, cache: KeyValueCache | None
    ) -> tuple[Tensor, Tensor]:
        is_cross = context is not x
        if is_cross and cache is not None and (past := cache.get(self.site)) is not None:
            return past
        k = split_heads(self.w_k(context), self.n_kv_heads)
        v = split_heads(self.w_v(context), self.n_kv_heads)
        if turn is not None and not is_cross:
            k = positions.rotate(k, turn)
        if cache is None:
            return k, v
        if is_cross:
            cache.put(self.site, k, v)
            return k, v
        return cache.append(self.site, k, v)
