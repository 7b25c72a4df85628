"""A Llama in GGUF gives what `transformers` gives, and what is not understood is refused."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from tokenizers import pre_tokenizers
from transformers import LlamaForCausalLM

from attention_lab.errors import ModelError
from attention_lab.tokens import tokenize
from attention_lab.zoo import gguf_llama, native
from tests.zoo.helpers import oracle

SIZES = {
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 96,
    "tie_word_embeddings": True,
}
ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
WORDS = ["<|end|>", "<|start|>", *ALPHABET, "Ġa"]
NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "model.layers.": "blk.",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "input_layernorm": "attn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def llama(**changes: Any) -> LlamaForCausalLM:
    model = oracle("llama", **SIZES | {"vocab_size": len(WORDS)} | changes)
    assert isinstance(model, LlamaForCausalLM)
    return model


def permute(weight: np.ndarray, n_heads: int) -> np.ndarray:
    """llama.cpp's own reordering of q and k, from its convert_hf_to_gguf.py."""
    return (
        weight.reshape(n_heads, 2, weight.shape[0] // n_heads // 2, *weight.shape[1:])
        .swapaxes(1, 2)
        .reshape(weight.shape)
    )


def write(
    path: Path,
    model: LlamaForCausalLM,
    *,
    kind: gguf.GGMLQuantizationType = gguf.GGMLQuantizationType.F32,
    leave_out: str = "-",
    pre: str = "smollm",
    **more: Any,
) -> Path:
    """`model` as a GGUF file, its matrices quantised as `kind`; `more` are fields for it."""
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny llama")
    writer.add_license("none")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(WORDS)
    writer.add_token_types([3, 3, *[1] * (len(WORDS) - 2)])
    writer.add_token_merges(["Ġ a"])
    writer.add_eos_token_id(0)
    for name, value in more.items():
        writer.add_float32(name.replace("__", "."), value)
    for name, value in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        numbers = value.numpy()
        if "q_proj" in name:
            numbers = permute(numbers, config.num_attention_heads)
        if "k_proj" in name:
            numbers = permute(numbers, config.num_key_value_heads)
        for theirs, short in NAMES.items():
            name = name.replace(theirs, short)
        if name == leave_out:
            continue
        stored = kind if numbers.ndim == 2 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(name, gguf.quants.quantize(numbers, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("tied", [True, False])
def test_parity(tmp_path: Path, tied: bool) -> None:
    reference = llama(tie_word_embeddings=tied)
    parts = gguf_llama.convert(write(tmp_path / "m.gguf", reference), "here")
    model = native.build("tiny", parts)
    ids = torch.tensor([[3, 1, 4, 1, 5, 9, 2]])
    torch.testing.assert_close(
        model.module(ids).logits, reference(ids).logits, atol=1e-5, rtol=1e-5
    )
    assert (model.card.title, model.card.eos_id, model.card.bos_id) == ("tiny llama", 0, None)


@pytest.mark.parametrize("kind", ["Q4_1", "Q8_0", "F16"])
def test_quantised_matrices_are_those_that_gguf_means(tmp_path: Path, kind: str) -> None:
    """Computed with the same rounded numbers, `transformers` gives the same."""
    reference = llama()
    quantisation = gguf.GGMLQuantizationType[kind]
    path = write(tmp_path / "m.gguf", reference, kind=quantisation)
    for parameter in reference.parameters():
        if parameter.ndim == 2:
            stored = gguf.quants.quantize(parameter.numpy(), quantisation)
            numbers = gguf.quants.dequantize(stored, quantisation).astype(np.float32)
            parameter.copy_(torch.from_numpy(numbers))
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    logits = native.build("tiny", gguf_llama.convert(path, "here")).module(ids).logits
    torch.testing.assert_close(logits, reference(ids).logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("pre", ["smollm", "gpt-2"])
def test_the_tokenizer_is_rebuilt(tmp_path: Path, pre: str) -> None:
    path = write(tmp_path / "m.gguf", llama(), pre=pre)
    model = native.build("tiny", gguf_llama.convert(path, "here"))
    tokens = tokenize(model.tokenizer, "a a<|end|>é")
    assert tokens.labels == ("a", "a", "<|end|>", "é 1/2", "é 2/2")
    assert [token.special for token in tokens] == [False, False, True, False, False]
    assert tokenize(model.tokenizer, "Ġa").labels == ("Ġ 1/2", "Ġ 2/2", "a")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"leave_out": "blk.1.attn_q.weight"}, r"lack the parameter blk\.1\.attn_q\.weight"),
        ({"pre": "llama-bpe"}, r"tokenizer\.ggml\.pre"),
        ({"llama__rope__scaling__factor": 8.0}, r"llama\.rope\.scaling\.factor"),
    ],
)
def test_what_is_not_understood_is_refused(
    tmp_path: Path, options: dict[str, Any], match: str
) -> None:
    path = write(tmp_path / "m.gguf", llama(), **options)
    with pytest.raises(ModelError, match=match):
        gguf_llama.convert(path, "here")


def test_a_left_over_tensor_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", llama(attention_bias=True))
    with pytest.raises(ModelError, match=r"does not have: blk\.0\.attn_\w+\.bias"):
        gguf_llama.convert(path, "here")
