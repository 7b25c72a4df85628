"""GPT-2 (Radford et al. 2019): pre-norm decoder with learned positions."""

from attention_lab.config import Activation, ModelConfig
from attention_lab.zoo.families.family import Family, Piece
from attention_lab.zoo.values import Values

ACTIVATIONS: dict[str, Activation] = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
}


def config(values: Values) -> ModelConfig:
    """What a GPT-2's config.json says, as ours. Defaults are those of the family's own code."""
    values.only(
        scale_attn_weights=True,
        scale_attn_by_inverse_layer_idx=False,
        add_cross_attention=False,
        is_encoder_decoder=False,
        pruned_heads={},
    )
    d_model, n_heads = values.integer("n_embd"), values.integer("n_head")
    return ModelConfig(
        kind="decoder",
        d_vocab=values.integer("vocab_size"),
        d_model=d_model,
        n_layers=values.integer("n_layer"),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_head=values.head_size(d_model, n_heads),
        d_ff=values.integer("n_inner", 4 * d_model),
        max_positions=values.integer("n_positions", 1024),
        norm="layer",
        norm_place="pre",
        norm_eps=values.number("layer_norm_epsilon", 1e-5),
        activation=values.choice("activation_function", ACTIVATIONS, "gelu_new"),
        position="learned",
        tie_embeddings=values.flag("tie_word_embeddings", True),
    )


def layout(config: ModelConfig) -> dict[str, Piece]:
    """Our parameter -> GPT-2's, whose linear layers are stored in × out, with q, k, v in one."""
    pieces = {
        "decoder.embed.token.weight": Piece("wte.weight"),
        "decoder.embed.position.weight": Piece("wpe.weight"),
        "decoder.norm.weight": Piece("ln_f.weight"),
        "decoder.norm.bias": Piece("ln_f.bias"),
    }
    if config.unembed and not config.tie_embeddings:
        pieces["unembed.weight"] = Piece("lm_head.weight")
    linear = {"self_attn.w_o": "attn.c_proj", "mlp.w_in": "mlp.c_fc", "mlp.w_out": "mlp.c_proj"}
    norms = {"self_norm": "ln_1", "mlp_norm": "ln_2"}
    for layer in range(config.n_layers):
        ours, theirs = f"decoder.layers.{layer}", f"h.{layer}"
        for part in ("weight", "bias"):
            for name, other in norms.items():
                pieces[f"{ours}.{name}.{part}"] = Piece(f"{theirs}.{other}.{part}")
            transposed = part == "weight"
            for name, other in linear.items():
                pieces[f"{ours}.{name}.{part}"] = Piece(f"{theirs}.{other}.{part}", transposed)
            for chunk, name in enumerate("qkv"):
                piece = Piece(f"{theirs}.attn.c_attn.{part}", transposed, chunk, 3)
                pieces[f"{ours}.self_attn.w_{name}.{part}"] = piece
    return pieces


FAMILY = Family(
    title="GPT-2",
    prefix="transformer.",
    config=config,
    layout=layout,
    unused=r"h\.\d+\.attn\.(bias|masked_bias)",  # the causal mask, stored as a buffer
    heads=r"(score|classifier|multiple_choice_head|qa_outputs)\..*",
    unembed="lm_head.weight",
)
