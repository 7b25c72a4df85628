"""BERT (Devlin et al. 2018): post-norm encoder with learned positions and segments."""

from attention_lab.config import Activation, ModelConfig
from attention_lab.zoo.families.family import Family, Piece
from attention_lab.zoo.values import Values

ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}


def config(values: Values) -> ModelConfig:
    """What a BERT's config.json says, as ours. Defaults are those of the family's own code."""
    values.only(
        position_embedding_type="absolute",
        is_decoder=False,
        is_encoder_decoder=False,
        add_cross_attention=False,
        pruned_heads={},
    )
    d_model, n_heads = values.integer("hidden_size"), values.integer("num_attention_heads")
    return ModelConfig(
        kind="encoder",
        d_vocab=values.integer("vocab_size"),
        d_model=d_model,
        n_layers=values.integer("num_hidden_layers"),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_head=values.head_size(d_model, n_heads),
        d_ff=values.integer("intermediate_size"),
        max_positions=values.integer("max_position_embeddings", 512),
        norm="layer",
        norm_place="post",
        norm_eps=values.number("layer_norm_eps", 1e-12),
        activation=values.choice("hidden_act", ACTIVATIONS, "gelu"),
        position="learned",
        n_segments=values.integer("type_vocab_size", 2),
        embed_norm=True,
        final_norm=False,
        unembed=False,
    )


def layout(config: ModelConfig) -> dict[str, Piece]:
    """Our parameter -> BERT's."""
    pieces = {
        "encoder.embed.token.weight": Piece("embeddings.word_embeddings.weight"),
        "encoder.embed.position.weight": Piece("embeddings.position_embeddings.weight"),
        "encoder.embed.segment.weight": Piece("embeddings.token_type_embeddings.weight"),
        "encoder.embed.norm.weight": Piece("embeddings.LayerNorm.weight"),
        "encoder.embed.norm.bias": Piece("embeddings.LayerNorm.bias"),
    }
    names = {
        "self_attn.w_q": "attention.self.query",
        "self_attn.w_k": "attention.self.key",
        "self_attn.w_v": "attention.self.value",
        "self_attn.w_o": "attention.output.dense",
        "self_norm": "attention.output.LayerNorm",
        "mlp.w_in": "intermediate.dense",
        "mlp.w_out": "output.dense",
        "mlp_norm": "output.LayerNorm",
    }
    for layer in range(config.n_layers):
        for ours, theirs in names.items():
            for part in ("weight", "bias"):
                piece = Piece(f"encoder.layer.{layer}.{theirs}.{part}")
                pieces[f"encoder.layers.{layer}.{ours}.{part}"] = piece
    return pieces


FAMILY = Family(
    title="BERT",
    prefix="bert.",
    config=config,
    layout=layout,
    unused=r"embeddings\.(position_ids|token_type_ids)|pooler\..*",
    heads=r"(cls|classifier|qa_outputs)\..*",
    renamed={".gamma": ".weight", ".beta": ".bias"},  # LayerNorm's, in early conversions
)
