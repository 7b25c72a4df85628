"""A Llama in llama.cpp's GGUF format, dequantised, as a model of ours.

For files of the registry only, whose SHA-256 is known: GGUF's reader trusts what it reads.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
from torch import Tensor

from attention_lab.config import ModelConfig
from attention_lab.i18n import _
from attention_lab.zoo import native, parameters
from attention_lab.zoo.loaded import ModelCard
from attention_lab.zoo.values import Values

CONTROL = 3  # a special token, in tokenizer.ggml.token_type
NAMES = {
    "self_attn.w_q": "attn_q",
    "self_attn.w_k": "attn_k",
    "self_attn.w_v": "attn_v",
    "self_attn.w_o": "attn_output",
    "self_norm": "attn_norm",
    "mlp.w_gate": "ffn_gate",
    "mlp.w_in": "ffn_up",
    "mlp.w_out": "ffn_down",
    "mlp_norm": "ffn_norm",
}
# How text is cut before merges, by `tokenizer.ggml.pre`. SmolLM reads digits one by one.
PRE_TOKENIZERS: dict[str, Callable[[], list[Any]]] = {
    "gpt-2": list,
    "smollm": lambda: [pre_tokenizers.Digits(individual_digits=True)],
}


def convert(path: Path, source: str, progress: parameters.Progress | None = None) -> native.Parts:
    """Read and convert a GGUF file. Raises `ModelError` for what is not fully understood."""
    reader = gguf.GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    values = Values(fields)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    config = _config(values, tied="output.weight" not in tensors)
    layout = _layout(config)
    shapes = parameters.expected_shapes(config)
    parameters.check(
        {name: shapes[ours] for ours, name in layout.items()},
        # GGUF writes the sizes of a tensor from the fastest axis on.
        {name: tuple(int(n) for n in tensor.shape[::-1]) for name, tensor in tensors.items()},
    )
    state: dict[str, Tensor] = {}
    for done, (ours, name) in enumerate(layout.items(), start=1):
        numbers = gguf.quants.dequantize(tensors[name].data, tensors[name].tensor_type)
        tensor = torch.from_numpy(np.array(numbers, dtype=np.float32))
        if name.endswith(("attn_q.weight", "attn_k.weight")):
            tensor = _half_split(tensor, config.d_head)
        state[ours] = tensor
        if progress is not None:
            progress(done, len(layout))
    card = ModelCard(
        title=str(values.get("general.name", path.stem)),
        kind="decoder (Llama)",
        licence=str(values.get("general.license", "")),
        source=source,
        trained=True,
        bos_id=values.token_id("tokenizer.ggml.bos_token_id", config.d_vocab),
        eos_id=values.token_id("tokenizer.ggml.eos_token_id", config.d_vocab),
        pad_id=values.token_id("tokenizer.ggml.padding_token_id", config.d_vocab),
        notes=_("Its parameters were stored in 4 bits and are computed with in 32."),
    )
    return native.Parts(config, state, _tokenizer(values).to_str(), card)


def _config(values: Values, tied: bool) -> ModelConfig:
    values.only(**{"general.architecture": "llama", "llama.expert_count": 0})
    values.only(**{"llama.rope.scaling.type": "none", "llama.rope.scaling.factor": 1.0})
    d_model = values.integer("llama.embedding_length")
    n_heads = values.integer("llama.attention.head_count")
    d_head = values.integer("llama.attention.key_length", values.head_size(d_model, n_heads))
    values.only(**{"llama.rope.dimension_count": d_head, "llama.attention.value_length": d_head})
    return ModelConfig(
        kind="decoder",
        d_vocab=len(values.get("tokenizer.ggml.tokens", [])),
        d_model=d_model,
        n_layers=values.integer("llama.block_count"),
        n_heads=n_heads,
        n_kv_heads=values.integer("llama.attention.head_count_kv", n_heads),
        d_head=d_head,
        d_ff=values.integer("llama.feed_forward_length"),
        max_positions=values.integer("llama.context_length"),
        norm="rms",
        norm_eps=values.number("llama.attention.layer_norm_rms_epsilon"),
        activation="silu_gated",
        position="rotary",
        rotary_base=values.number("llama.rope.freq_base", 10_000.0),
        attention_bias=False,
        mlp_bias=False,
        tie_embeddings=tied,
    )


def _layout(config: ModelConfig) -> dict[str, str]:
    """Our parameter -> GGUF's."""
    layout = {
        "decoder.embed.token.weight": "token_embd.weight",
        "decoder.norm.weight": "output_norm.weight",
    }
    if not config.tie_embeddings:
        layout["unembed.weight"] = "output.weight"
    for layer in range(config.n_layers):
        for ours, theirs in NAMES.items():
            layout[f"decoder.layers.{layer}.{ours}.weight"] = f"blk.{layer}.{theirs}.weight"
    return layout


def _half_split(weight: Tensor, d_head: int) -> Tensor:
    """Rows of q or k from llama.cpp's order (pairs side by side) to ours (halves side by side)."""
    rows, columns = weight.shape
    pairs = weight.view(rows // d_head, d_head // 2, 2, columns)
    return pairs.transpose(1, 2).reshape(rows, columns)


def _tokenizer(values: Values) -> Tokenizer:
    """The byte-level BPE that the file's vocabulary and merges belong to."""
    values.only(**{"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.add_bos_token": False})
    values.only(**{"tokenizer.ggml.add_eos_token": False})
    before = values.choice("tokenizer.ggml.pre", PRE_TOKENIZERS)()
    words: list[str] = values.get("tokenizer.ggml.tokens")
    kinds: list[int] = values.get("tokenizer.ggml.token_type")
    merges = [tuple(merge.split(" ", 1)) for merge in values.get("tokenizer.ggml.merges")]
    vocabulary = {word: id for id, word in enumerate(words)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*before, byte_level])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = [word for word, kind in zip(words, kinds, strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens([AddedToken(word, normalized=False) for word in special])
    return tokenizer
