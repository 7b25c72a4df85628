"""Llama (Touvron et al. 2023): pre-RMSNorm decoder, rotary positions, gated SiLU, shared keys."""

from attention_lab.config import ModelConfig
from attention_lab.errors import ModelError
from attention_lab.i18n import _
from attention_lab.zoo.families.family import Family, Piece
from attention_lab.zoo.values import Values


def config(values: Values) -> ModelConfig:
    """What a Llama's config.json says, as ours. Defaults are those of the family's own code."""
    values.only(
        is_encoder_decoder=False,
        partial_rotary_factor=1.0,
        sliding_window=None,
        hidden_act="silu",
    )
    d_model, n_heads = values.integer("hidden_size"), values.integer("num_attention_heads")
    tied = values.flag("tie_word_embeddings", False)
    given = values.get("head_dim") is not None
    return ModelConfig(
        kind="decoder",
        d_vocab=values.integer("vocab_size"),
        d_model=d_model,
        n_layers=values.integer("num_hidden_layers"),
        n_heads=n_heads,
        n_kv_heads=values.integer("num_key_value_heads", n_heads),
        d_head=values.integer("head_dim") if given else values.head_size(d_model, n_heads),
        d_ff=values.integer("intermediate_size"),
        max_positions=values.integer("max_position_embeddings", 2048),
        norm="rms",
        norm_place="pre",
        norm_eps=values.number("rms_norm_eps", 1e-6),
        activation="silu_gated",
        position="rotary",
        rotary_base=_rotary_base(values),
        attention_bias=values.flag("attention_bias", False),
        mlp_bias=values.flag("mlp_bias", False),
        unembed=tied or values.get("architectures") != ["LlamaModel"],
        tie_embeddings=tied,
    )


def _rotary_base(values: Values) -> float:
    """The base of the rotary angles, in the old form of the settings or the new one."""
    base = values.number("rope_theta", 10_000.0)
    for name in ("rope_scaling", "rope_parameters"):
        settings = values.get(name, {})
        if not isinstance(settings, dict):
            raise ModelError(_("The model's config.json has a broken {name}.").format(name=name))
        rope = Values(settings)
        rope.only(rope_type="default", type="default", factor=1.0, partial_rotary_factor=1.0)
        base = rope.number("rope_theta", base)
    return base


def layout(config: ModelConfig) -> dict[str, Piece]:
    """Our parameter -> Llama's."""
    pieces = {
        "decoder.embed.token.weight": Piece("embed_tokens.weight"),
        "decoder.norm.weight": Piece("norm.weight"),
    }
    if config.unembed and not config.tie_embeddings:
        pieces["unembed.weight"] = Piece("lm_head.weight")
    names = {"self_norm": "input_layernorm", "mlp_norm": "post_attention_layernorm"}
    attention = {f"self_attn.w_{name}": f"self_attn.{name}_proj" for name in "qkvo"}
    mlp = {"mlp.w_gate": "mlp.gate_proj", "mlp.w_in": "mlp.up_proj", "mlp.w_out": "mlp.down_proj"}
    names |= attention | mlp
    biased = (attention if config.attention_bias else {}) | (mlp if config.mlp_bias else {})
    for layer in range(config.n_layers):
        ours, theirs = f"decoder.layers.{layer}", f"layers.{layer}"
        for name, other in names.items():
            pieces[f"{ours}.{name}.weight"] = Piece(f"{theirs}.{other}.weight")
        for name, other in biased.items():
            pieces[f"{ours}.{name}.bias"] = Piece(f"{theirs}.{other}.bias")
    return pieces


FAMILY = Family(
    title="Llama",
    prefix="model.",
    config=config,
    layout=layout,
    unused=r"(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq",
    heads=r"(score|classifier|qa_outputs)\..*",
    unembed="lm_head.weight",
)
