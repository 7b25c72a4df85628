"""The same parameters in the libraries that ours is measured against."""

import tempfile
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import (
    BertConfig,
    BertModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from attention_lab.zoo.families import FAMILIES
from attention_lab.zoo.loaded import Model


def in_transformers(model: Model) -> PreTrainedModel:
    """`model` as a BERT (encoder) or a Llama (decoder) of `transformers`, with eager attention."""
    config = model.config
    sizes: dict[str, Any] = {
        "vocab_size": config.d_vocab,
        "hidden_size": config.d_model,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "intermediate_size": config.d_ff,
        "max_position_embeddings": config.max_positions,
    }
    if config.kind == "encoder":
        settings = BertConfig(**sizes, type_vocab_size=config.n_segments)
        settings.layer_norm_eps = config.norm_eps
        theirs: PreTrainedModel = BertModel(settings, add_pooling_layer=False)
        family, prefix = FAMILIES["bert"], ""
    else:
        theirs = LlamaForCausalLM(
            LlamaConfig(
                **sizes,
                num_key_value_heads=config.n_kv_heads,
                rms_norm_eps=config.norm_eps,
                rope_parameters={"rope_type": "default", "rope_theta": config.rotary_base},
                tie_word_embeddings=config.tie_embeddings,
            )
        )
        family, prefix = FAMILIES["llama"], "model."
    theirs.set_attn_implementation("eager")
    names = {piece.name: ours for ours, piece in family.layout(config).items()}
    own = model.module.state_dict()
    state = {
        name if name == family.unembed else prefix + name: own[ours].contiguous()
        for name, ours in names.items()
    }
    wrong = theirs.load_state_dict(state, strict=False)
    left = set(wrong.missing_keys) - ({family.unembed} if config.tie_embeddings else set())
    if left or wrong.unexpected_keys:
        raise ValueError(f"Parameters do not match: {left or wrong.unexpected_keys}")
    theirs.train(False)
    theirs.requires_grad_(False)
    return theirs


def in_transformer_lens(model: Model) -> Callable[[Tensor], object] | str:
    """A run of `model` in TransformerLens' bridge with everything cached; or why there is none."""
    if model.config.kind == "encoder":
        return "its bridge wraps a BERT with a masked-language head only, and this one has none"
    try:
        from transformer_lens.model_bridge import TransformerBridge
    except ImportError:
        return "it is not installed; make bench-capture installs it"
    theirs = in_transformers(model)
    theirs.config.architectures = [type(theirs).__name__]
    names = model.tokenizer.id_to_token
    special = {
        "bos_token": names(model.card.bos_id or 0),
        "eos_token": names(model.card.eos_id or 0),
    }
    with tempfile.TemporaryDirectory() as folder:  # the bridge loads its tokenizer twice
        PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
            tokenizer_object=model.tokenizer, pad_token=special["eos_token"], **special
        ).save_pretrained(folder)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
        bridge = TransformerBridge.boot_transformers(
            model.name, hf_model=theirs, tokenizer=tokenizer, device="cpu"
        )

    def run(ids: Tensor) -> object:
        with torch.inference_mode():
            return bridge.run_with_cache(ids)

    return run
