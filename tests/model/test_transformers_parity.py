"""Every layer's hidden state, every attention matrix and the logits against `transformers`."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM, PreTrainedModel

from attention_lab import zoo
from attention_lab.model import masks
from attention_lab.model.points import observing
from attention_lab.model.transformer import Transformer
from attention_lab.tokens import tokenize
from attention_lab.zoo.families import FAMILIES
from tests.factories import Recorder
from tests.zoo.helpers import oracle, save

SENTENCES = [
    "The animal didn't cross the street because it was too tired.",
    "猫追老鼠, 老鼠追猫! Où est-il? 😀",
    "The capital of France is",
]


def assert_same(
    ours: Transformer, theirs: PreTrainedModel, ids: Tensor, real: Tensor | None, close: float
) -> None:
    """Both models on a batch; `real` (batch, key) is False for padding, whose own rows are free."""
    n = ids.shape[1]
    kept = torch.ones_like(ids, dtype=torch.bool) if real is None else real
    stack = ours.config.kind
    mask = None if real is None else masks.padding(real)
    if mask is not None and stack == "decoder":
        mask = mask & masks.causal(n, n)
    recorder = Recorder()
    with torch.inference_mode(), observing(recorder):
        out = ours(ids, mask=mask)
        expected = theirs(
            ids,
            attention_mask=None if real is None else real.long(),
            output_attentions=True,
            output_hidden_states=True,
        )
    tolerance = {"rtol": close, "atol": close}
    assert len(expected.attentions) == ours.config.n_layers
    for layer, (weights, hidden) in enumerate(
        zip(expected.attentions, expected.hidden_states, strict=False)
    ):
        rows = recorder[f"{stack}.{layer}.self.weights"].transpose(1, 2)[kept]
        torch.testing.assert_close(rows, weights.transpose(1, 2)[kept], rtol=0, atol=close)
        # The residual stream grows to 25,000 in a trained Llama; layers read it normalised.
        size = hidden[kept].square().mean(dim=-1, keepdim=True).sqrt().clamp(min=1)
        stream = recorder[f"{stack}.{layer}.pre"][kept]
        torch.testing.assert_close(stream / size, hidden[kept] / size, rtol=0, atol=close)
    torch.testing.assert_close(out.hidden[kept], expected.hidden_states[-1][kept], **tolerance)
    if stack == "decoder":
        torch.testing.assert_close(out.logits[kept], expected.logits[kept], **tolerance)


@pytest.mark.parametrize("length", [1, 2, 7, 16, 31])
@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_a_batch_of_any_length(tmp_path: Path, family: str, length: int) -> None:
    theirs = oracle(family)
    ours = zoo.load(save(theirs, tmp_path / "model")).module
    assert_same(ours, theirs, torch.randint(64, (3, length)), None, 1e-5)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_a_batch_with_padding(tmp_path: Path, family: str, side: str) -> None:
    """Padding on the left leaves a causal model rows without any open key."""
    theirs = oracle(family)
    ours = zoo.load(save(theirs, tmp_path / "model")).module
    real = torch.arange(9) < torch.tensor([[9], [5], [1]])
    real = real if side == "right" else real.flip(1)
    assert_same(ours, theirs, torch.randint(64, (3, 9)), real, 1e-5)


@pytest.mark.parametrize(
    ("heads", "kv_heads", "head_dim"), [(4, 4, 6), (4, 1, 6), (6, 3, 4), (3, 3, 10)]
)
def test_grouped_heads(tmp_path: Path, heads: int, kv_heads: int, head_dim: int) -> None:
    sizes = {"num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": head_dim}
    theirs = oracle("llama", **sizes)
    ours = zoo.load(save(theirs, tmp_path / "model")).module
    assert_same(ours, theirs, torch.randint(64, (2, 13)), None, 1e-5)


def in_transformers(ours: Transformer, family: str, reference: PreTrainedModel) -> PreTrainedModel:
    """`reference`, with the very parameters of our model."""
    state = ours.state_dict()
    layout = FAMILIES[family].layout(ours.config)
    missing, left_over = reference.load_state_dict(
        {
            (f"model.{piece.name}" if family == "llama" else piece.name): state[name]
            for name, piece in layout.items()
        },
        strict=False,
        assign=True,
    )
    assert not left_over
    assert set(missing) <= {"lm_head.weight"}
    reference.tie_weights()
    return reference.eval().requires_grad_(False)


def shared_settings(ours: Transformer) -> dict[str, Any]:
    config = ours.config
    return {
        "vocab_size": config.d_vocab,
        "hidden_size": config.d_model,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "intermediate_size": config.d_ff,
        "max_position_embeddings": config.max_positions,
        "attn_implementation": "eager",
    }


@pytest.mark.pulled
@pytest.mark.parametrize("text", SENTENCES)
def test_minilm(minilm: zoo.Model, text: str) -> None:
    settings = BertConfig(**shared_settings(minilm.module))
    theirs = in_transformers(minilm.module, "bert", BertModel(settings, add_pooling_layer=False))
    ids = torch.tensor([tokenize(minilm.tokenizer, text).ids])
    assert_same(minilm.module, theirs, ids, None, 1e-4)


@pytest.fixture(scope="module")
def llama(smollm2: zoo.Model) -> PreTrainedModel:
    settings = LlamaConfig(
        **shared_settings(smollm2.module),
        num_key_value_heads=3,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 100_000.0},
        tie_word_embeddings=True,
    )
    return in_transformers(smollm2.module, "llama", LlamaForCausalLM(settings))


@pytest.mark.pulled
@pytest.mark.parametrize("text", SENTENCES)
def test_smollm2(smollm2: zoo.Model, llama: PreTrainedModel, text: str) -> None:
    ids = torch.tensor([tokenize(smollm2.tokenizer, text).ids])
    assert_same(smollm2.module, llama, ids, None, 1e-4)
