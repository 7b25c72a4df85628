"""What each module of a Transformer does, and its shapes as letters, by its name.

Letters: batch; length, or source and target where there are two sequences; n_heads, n_kv_heads,
d_head (the paper's d_k = d_v), d_model, d_ff, d_vocab. `sizes` gives their numbers.
"""

from dataclasses import dataclass

from attention_lab.config import ModelConfig

Letters = tuple[str, ...]

HEADS, KEY_HEADS = "n_heads · d_head", "n_kv_heads · d_head"


@dataclass(frozen=True)
class Axes:
    """The letters of one stack: of its own positions, and of those that its keys come from."""

    config: ModelConfig
    position: str
    context: str

    @property
    def stream(self) -> Letters:
        """The residual stream."""
        return ("batch", self.position, "d_model")

    @property
    def scores(self) -> Letters:
        """One number for each query and key of each head."""
        return ("batch", "n_heads", self.position, self.context)

    def heads(self, point: str) -> tuple[Letters, Letters, Letters]:
        """q, k or v before the split, after `view`, after `transpose`."""
        position = self.position if point == "q" else self.context
        n, width = ("n_heads", HEADS) if point == "q" else ("n_kv_heads", KEY_HEADS)
        flat = ("batch", position, width)
        return flat, ("batch", position, n, "d_head"), ("batch", n, position, "d_head")

    @property
    def merge(self) -> tuple[Letters, Letters, Letters]:
        """z, after `transpose`, after `flatten`."""
        return (
            ("batch", "n_heads", self.position, "d_head"),
            ("batch", self.position, "n_heads", "d_head"),
            ("batch", self.position, HEADS),
        )


def axes(config: ModelConfig, name: str) -> Axes:
    """The letters of the stack and the attention that a module belongs to."""
    if config.kind != "encoder-decoder":
        return Axes(config, "length", "length")
    position = "source" if name.startswith("encoder") else "target"
    return Axes(config, position, "source" if ".cross_attn" in name else position)


def sizes(config: ModelConfig, n_source: int, n_target: int | None = None) -> dict[str, int]:
    """The number that each letter stands for."""
    found = {"batch": 1, "length": n_source, "d_vocab": config.d_logits or config.d_vocab}
    if n_target is not None:
        found = {"batch": 1, "source": n_source, "target": n_target, "d_vocab": config.d_logits}
    names = ("d_model", "n_layers", "n_heads", "n_kv_heads", "d_head", "d_ff", "n_segments")
    return found | {name: getattr(config, name) for name in names}


def module_letters(config: ModelConfig, name: str) -> tuple[tuple[Letters, ...], Letters]:
    """The letters of a module's inputs and of its output; points have their own."""
    here = axes(config, name)
    stream, ids = here.stream, ("batch", here.position)
    last, parent = name.rpartition(".")[2], name.rpartition(".")[0].rpartition(".")[2]
    if name == "":
        both = config.kind == "encoder-decoder"
        inputs = (("batch", "source"), ("batch", "target")) if both else (("batch", "length"),)
        end = axes(config, config.stacks[-1]).stream
        return inputs, (*end[:2], "d_vocab") if config.unembed else end
    if name in config.stacks or last == "embed" or (parent, last) == ("embed", "token"):
        return (ids,), stream
    if (parent, last) == ("embed", "position"):
        return ((here.position,),), (here.position, "d_model")
    if (parent, last) == ("embed", "segment"):
        return (("n_segments", "d_model"),), ("d_model",)
    if last == "cross_attn":
        return (stream, ("batch", here.context, "d_model")), stream
    if last in ("w_q", "w_k", "w_v"):
        flat = here.heads(last[-1])[0]
        return ((*flat[:2], "d_model"),), flat
    if last == "w_o":
        return (here.merge[2],), stream
    if parent.endswith("_attn") and last == "dropout":
        return (here.scores,), here.scores
    wide = (*stream[:2], "d_ff")
    if parent == "mlp":
        before = wide if last in ("w_out", "dropout") else stream
        return (before,), stream if last == "w_out" else wide
    if last == "unembed":
        end = axes(config, config.stacks[-1]).stream
        return (end,), (*end[:2], "d_vocab")
    return (stream,), stream


def operation(config: ModelConfig, name: str, kind: str) -> str:
    """What a module computes, as short as it can be said; `kind` is the name of its class."""
    last = name.rpartition(".")[2]
    if kind == "Linear":
        has_bias = (
            config.attention_bias
            if "_attn." in name
            else config.mlp_bias
            if ".mlp." in name
            else False
        )
        return "x Wᵀ + b" if has_bias else "x Wᵀ"
    if kind == "Embedding" and last == "embed":
        return _embedding(config)
    if kind == "Attention":
        return "softmax(q kᵀ / √d_head, masked) v W_Oᵀ"
    if kind == "FeedForward":
        if config.activation == "silu_gated":
            return "w_out(silu(w_gate(x)) · w_in(x))"
        return f"w_out({config.activation}(w_in(x)))"
    whole = {
        "Transformer": " → ".join([*config.stacks, *(["unembed"] if config.unembed else [])]),
        "Stack": f"embed → {config.n_layers} layers" + (" → norm" if config.final_norm else ""),
        "Block": "attention, then mlp, each added to x",
        "Embedding": "row of the table for each id",
        "LayerNorm": "(x - mean) / √(variance + ε) · w + b",
        "RMSNorm": "x / √(mean(x²) + ε) · w",
        "Dropout": "x (dropout is off)",
    }
    return whole.get(kind, kind)


def residual(config: ModelConfig, at: str) -> str:
    """What stands at a named place of the residual stream."""
    what = {"mid": "attn_out", "cross": "cross_out", "post": "mlp_out"}.get(at)
    if what is None:
        return {"pre": "x", "mlp_out": "mlp(…)"}[at]
    return f"x + {what}" if config.norm_place == "pre" else f"norm(x + {what})"


def _embedding(config: ModelConfig) -> str:
    text = "token(ids)"
    if config.embed_scale:
        text += " · √d_model"
    if config.position in ("learned", "sinusoidal"):
        text += f" + {config.position} positions"
    if config.n_segments:
        text += " + segment 0"
    return f"norm({text})" if config.embed_norm else text
