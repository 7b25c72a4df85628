"""The blocks that a model is made of, with its sizes, in the order of computation."""

from dataclasses import dataclass
from typing import Literal

from attention_lab.config import ModelConfig
from attention_lab.i18n import _

Kind = Literal["end", "table", "norm", "attention", "cross", "mlp", "add"]


@dataclass(frozen=True)
class Block:
    """A box of a drawing."""

    kind: Kind
    title: str
    detail: str = ""
    opens: bool = False  # a residual connection begins below it
    in_layer: bool = False


def columns(config: ModelConfig, n_source: int, n_target: int | None = None) -> list[list[Block]]:
    """The blocks of each stack, from the tokens up, on a text of so many tokens."""
    return [_stack(config, stack, n_source, n_target) for stack in config.stacks]


def _stack(config: ModelConfig, stack: str, n_source: int, n_target: int | None) -> list[Block]:
    """The boxes of a stack, from the bottom up."""
    both = config.kind == "encoder-decoder"
    is_target = both and stack == "decoder"
    n = n_source if not is_target or n_target is None else n_target
    d_vocab = config.d_vocab_target if is_target else config.d_vocab
    names = {"encoder": _("source tokens"), "decoder": _("target tokens")}
    d = config.d_model
    column = [
        Block("end", names[stack] if both else _("tokens"), f"(1, {n})"),
        Block("table", _("Embedding"), f"{d_vocab:,} × {d:,}"),
    ]
    if (extra := _added(config)) is not None:
        column.append(Block("norm", extra))
    if config.embed_norm:
        column.append(Block("norm", _norm_name(config)))
    column += _layer(config, is_target)
    if config.final_norm:
        column.append(Block("norm", _norm_name(config)))
    is_last = stack == config.stacks[-1]
    if is_last and config.unembed:
        size = f"{d:,} → {config.d_logits:,}"
        if config.tie_embeddings:
            size = _("{size}, table shared").format(size=size)
        column.append(Block("table", _("Unembedding"), size))
        column.append(Block("end", _("logits"), f"(1, {n}, {config.d_logits:,})"))
    else:
        what = _("encoder's output") if both else _("last hidden state")
        column.append(Block("end", what, f"(1, {n}, {d:,})"))
    return column


def _layer(config: ModelConfig, has_cross: bool) -> list[Block]:
    """One layer: each part with its norm before or after, and its residual connection."""
    heads = _("{n} heads × {d}").format(n=config.n_heads, d=config.d_head)
    if config.n_kv_heads < config.n_heads:
        heads += _(", {n} for keys and values").format(n=config.n_kv_heads)
    title = _("Self-attention") if config.kind == "encoder" else _("Masked self-attention")
    if config.kind == "encoder-decoder" and not has_cross:
        title = _("Self-attention")
    if config.position in ("rotary", "alibi"):
        title += f" ({config.position})"
    d, ff = f"{config.d_model:,}", f"{config.d_ff:,}"
    gate = config.activation.removesuffix("_gated").removesuffix("_tanh")
    parts = [Block("attention", title, heads)]
    if has_cross:
        parts.append(Block("cross", _("Cross-attention"), heads))
    parts.append(Block("mlp", _("Feed-forward"), f"{d} → {ff} → {d}, {gate}"))
    norm, found = Block("norm", _norm_name(config), in_layer=True), list[Block]()
    for part in parts:
        inside = Block(part.kind, part.title, part.detail, in_layer=True)
        add = Block("add", "+", in_layer=True)
        if config.norm_place == "pre":
            found += [_opening(norm), inside, add]
        else:
            found += [_opening(inside), add, norm]
    return found


def _opening(block: Block) -> Block:
    return Block(block.kind, block.title, block.detail, opens=True, in_layer=True)


def _added(config: ModelConfig) -> str | None:
    """What is added to the embedding."""
    names = {
        "learned": _("+ {n:,} learned positions").format(n=config.max_positions),
        "sinusoidal": _("+ sinusoidal positions"),
    }
    parts = [names[config.position]] if config.position in names else []
    if config.n_segments:
        parts.append(_("+ segments"))
    return " ".join(parts) or None


def _norm_name(config: ModelConfig) -> str:
    return "RMSNorm" if config.norm == "rms" else "LayerNorm"
