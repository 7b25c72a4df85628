"""What surrounds attention in a Transformer: norms, the feed-forward net, embeddings, the block."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from attention_lab.config import Activation, ModelConfig, Position
from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.model import positions
from attention_lab.model.attention import Attention
from attention_lab.model.cache import KeyValueCache
from attention_lab.model.points import Point

Stream = Float[Tensor, "batch position d_model"]

# The places in the residual stream that a layer names, and what its feed-forward net adds.
PLACES = ("pre", "mid", "cross", "mlp_out", "post")

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu_gated": functional.silu,
}


def make_norm(config: ModelConfig) -> nn.Module:
    """LayerNorm, or RMSNorm, which neither centres nor shifts (Zhang and Sennrich 2019)."""
    kind = nn.RMSNorm if config.norm == "rms" else nn.LayerNorm
    return kind(config.d_model, eps=config.norm_eps)


class FeedForward(nn.Module):
    """W_out f(W_in x); gated: W_out (silu(W_gate x) · W_in x) (GLU Variants, equation 6)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.f = ACTIVATIONS[config.activation]
        self.w_in = nn.Linear(config.d_model, config.d_ff, config.mlp_bias)
        self.w_out = nn.Linear(config.d_ff, config.d_model, config.mlp_bias)
        gated = config.activation == "silu_gated"
        self.w_gate = nn.Linear(config.d_model, config.d_ff, config.mlp_bias) if gated else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Stream) -> Stream:
        """Each position on its own."""
        h = self.f(self.w_in(x)) if self.w_gate is None else self.f(self.w_gate(x)) * self.w_in(x)
        out: Tensor = self.w_out(self.dropout(h))
        return out


class Embedding(nn.Module):
    """Token ids → vectors, with absolute positions (and BERT's segment 0) added."""

    def __init__(self, config: ModelConfig, d_vocab: int) -> None:
        super().__init__()
        self.config = config
        self.token = nn.Embedding(d_vocab, config.d_model)
        learned, segments = config.position == "learned", config.n_segments
        self.position = nn.Embedding(config.max_positions, config.d_model) if learned else None
        self.segment = nn.Embedding(segments, config.d_model) if segments else None
        self.norm = make_norm(config) if config.embed_norm else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, ids: Int[Tensor, "batch position"], where: Int[Tensor, " position"], kind: Position
    ) -> Stream:
        """The residual stream that the first layer reads."""
        x = self.token(ids)
        if self.config.embed_scale:
            x = x * self.config.d_model**0.5
        if kind == "learned":
            x = x + self._learned(where)
        elif kind == "sinusoidal":
            x = x + positions.sinusoidal(where, self.config.d_model)
        if self.segment is not None:
            x = x + self.segment.weight[0]
        if self.norm is not None:
            x = self.norm(x)
        out: Tensor = self.dropout(x)
        return out

    def _learned(self, where: Int[Tensor, " position"]) -> Float[Tensor, "position d_model"]:
        if self.position is None:
            message = _("This model has no learned positions; it was trained with {position}.")
            raise InputError(message.format(position=self.config.position))
        if int(where[-1]) >= self.config.max_positions:
            message = _("This model has learned {most} positions, and the text needs {n}.")
            raise InputError(message.format(most=self.config.max_positions, n=int(where[-1]) + 1))
        rows: Tensor = self.position(where)
        return rows


class Block(nn.Module):
    """One layer: attention, then feed-forward, each with its norm and its residual connection.

    Pre-norm: x + f(norm(x)). Post-norm: norm(x + f(x)), as in the paper (section 3.1).
    """

    def __init__(self, config: ModelConfig, name: str, has_cross: bool) -> None:
        super().__init__()
        self.pre = config.norm_place == "pre"
        self.self_attn = Attention(config, f"{name}.self")
        self.self_norm = make_norm(config)
        self.cross_attn = Attention(config, f"{name}.cross") if has_cross else None
        self.cross_norm = make_norm(config) if has_cross else None
        self.mlp = FeedForward(config)
        self.mlp_norm = make_norm(config)
        self.dropout = nn.Dropout(config.dropout)
        self.at = nn.ModuleDict({at: Point(f"{name}.{at}") for at in PLACES})

    def forward(
        self,
        x: Stream,
        mask: Bool[Tensor, "#batch #h #q k"],
        turn: Float[Tensor, "2 q d"] | None = None,
        bias: Float[Tensor, "h q k"] | None = None,
        cache: KeyValueCache | None = None,
        context: Float[Tensor, "batch source d_model"] | None = None,
        cross_mask: Bool[Tensor, "#batch #h #q source"] | None = None,
    ) -> Stream:
        """`x` through the layer; `context` is the encoder's output, for cross-attention."""
        x = self.at["pre"](x)
        h = self.self_norm(x) if self.pre else x
        x = self._add(x, self.self_attn(h, h, mask, turn, bias, cache), self.self_norm)
        x = self.at["mid"](x)
        if self.cross_attn is not None and self.cross_norm is not None:
            h = self.cross_norm(x) if self.pre else x
            cross = self.cross_attn(h, context, cross_mask, cache=cache)
            x = self.at["cross"](self._add(x, cross, self.cross_norm))
        h = self.mlp_norm(x) if self.pre else x
        x = self._add(x, self.at["mlp_out"](self.mlp(h)), self.mlp_norm)
        out: Tensor = self.at["post"](x)
        return out

    def _add(self, x: Stream, update: Stream, norm: nn.Module) -> Stream:
        x = x + self.dropout(update)
        return x if self.pre else norm(x)


class Stack(nn.Module):
    """An encoder or a decoder: embeddings, layers, and where the config has one a last norm."""

    def __init__(self, config: ModelConfig, name: str, d_vocab: int, has_cross: bool) -> None:
        super().__init__()
        self.config = config
        self.embed = Embedding(config, d_vocab)
        self.layers = nn.ModuleList(
            Block(config, f"{name}.{i}", has_cross) for i in range(config.n_layers)
        )
        self.norm = make_norm(config) if config.final_norm else None

    def forward(
        self,
        ids: Int[Tensor, "batch position"],
        mask: Bool[Tensor, "#batch #h #q k"],
        kind: Position,
        cache: KeyValueCache | None = None,
        context: Float[Tensor, "batch source d_model"] | None = None,
        cross_mask: Bool[Tensor, "#batch #h #q source"] | None = None,
        start: int = 0,
    ) -> Stream:
        """Token ids → the last hidden state; the first token stands at position `start`."""
        config, n_query, n_key = self.config, ids.shape[1], mask.shape[-1]
        where = start + torch.arange(n_key - n_query, n_key)
        turn = bias = None
        if kind == "rotary":
            turn = positions.rotary_turn(where, config.d_head, config.rotary_base)
        elif kind == "alibi":
            bias = positions.alibi_bias(config.n_heads, n_query, n_key)
        x = self.embed(ids, where, kind)
        for layer in self.layers:
            x = layer(x, mask, turn, bias, cache, context, cross_mask)
        out: Tensor = x if self.norm is None else self.norm(x)
        return out
