"""Checkpoints of each family give what `transformers` gives, and odd configs are refused."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    BertForMaskedLM,
    BertForSequenceClassification,
    GPT2Model,
    LlamaModel,
    PreTrainedModel,
)

from attention_lab import zoo
from attention_lab.errors import ModelError
from attention_lab.model.points import observing
from tests.factories import Recorder
from tests.zoo.helpers import change_json, oracle, save

IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 5, 8, 9, 7]])


def assert_same(folder: Path, reference: PreTrainedModel) -> None:
    """Hidden states, logits and attention of our model and theirs, on a batch of odd length."""
    recorder = Recorder()
    model = zoo.load(folder)
    with observing(recorder):
        ours = model.module(IDS)
    theirs = reference(IDS, output_hidden_states=True, output_attentions=True)
    torch.testing.assert_close(ours.hidden, theirs.hidden_states[-1], atol=1e-5, rtol=1e-5)
    for site, weights in zip(model.config.sites, theirs.attentions, strict=True):
        torch.testing.assert_close(recorder[f"{site}.weights"], weights, atol=1e-5, rtol=1e-5)
    logits = getattr(theirs, "logits", None)
    if logits is not None and ours.logits is not None:
        torch.testing.assert_close(ours.logits, logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("bert", {}),
        ("bert", {"hidden_act": "gelu_new", "type_vocab_size": 1}),
        ("bert", {"hidden_act": "relu", "layer_norm_eps": 1e-3}),
        ("gpt2", {}),
        ("gpt2", {"n_inner": 20, "activation_function": "relu"}),
        ("gpt2", {"tie_word_embeddings": False}),
        ("llama", {}),
        ("llama", {"tie_word_embeddings": True}),
        ("llama", {"attention_bias": True, "mlp_bias": True}),
        ("llama", {"head_dim": 6, "num_key_value_heads": 6, "rms_norm_eps": 1e-3}),
        ("llama", {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0}}),
    ],
)
def test_parity(tmp_path: Path, family: str, changes: dict[str, Any]) -> None:
    reference = oracle(family, **changes)
    assert_same(save(reference, tmp_path / "model"), reference)


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_parity_with_padding(tmp_path: Path, family: str) -> None:
    reference = oracle(family)
    module = zoo.load(save(reference, tmp_path / "model")).module
    real = torch.tensor([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]])
    theirs = reference(IDS, attention_mask=real, output_hidden_states=True).hidden_states[-1]
    mask = real.bool()[:, None, None, :]
    if family != "bert":
        mask = mask & torch.ones(7, 7, dtype=torch.bool).tril()
    ours = module(IDS, mask=mask).hidden
    torch.testing.assert_close(ours[real == 1], theirs[real == 1], atol=1e-5, rtol=1e-5)


def test_parity_in_the_old_form_of_the_rotary_settings(tmp_path: Path) -> None:
    reference = oracle("llama", rope_parameters={"rope_type": "default", "rope_theta": 50.0})
    folder = save(reference, tmp_path / "model")
    change_json(folder / "config.json", rope_parameters="…", rope_theta=50.0, rope_scaling=None)
    assert_same(folder, reference)


def test_parity_of_several_files_with_an_index(tmp_path: Path) -> None:
    reference = oracle("gpt2")
    folder = save(reference, tmp_path / "model", max_shard_size="10KB")
    assert len(list(folder.glob("*.safetensors"))) > 2
    assert_same(folder, reference)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_full(tmp_path: Path, dtype: torch.dtype) -> None:
    reference = oracle("llama")
    for parameter in reference.parameters():
        parameter.copy_(parameter.to(dtype))  # rounded, so that storing it loses nothing
    folder = save(deepcopy(reference).to(dtype), tmp_path / "model")
    assert_same(folder, reference)


@pytest.mark.parametrize("model_class", [GPT2Model, LlamaModel])
def test_parity_of_models_without_a_head(tmp_path: Path, model_class: Any) -> None:
    reference = oracle(model_class.__name__[:-5].lower(), model_class)
    assert_same(save(reference, tmp_path / "model"), reference)


@pytest.mark.parametrize(
    ("model_class", "note"),
    [(BertForMaskedLM, "cls"), (BertForSequenceClassification, "classifier")],
)
def test_a_task_head_is_left_aside_and_the_card_says_so(
    tmp_path: Path, model_class: Any, note: str
) -> None:
    reference = oracle("bert", model_class)
    folder = save(reference, tmp_path / "model")
    assert note in zoo.load(folder).card.notes
    assert_same(folder, reference)


def test_the_card_of_a_folder(tmp_path: Path) -> None:
    reference = oracle("llama", bos_token_id=5, eos_token_id=[7, 8], pad_token_id=-1)
    model = zoo.load(save(reference, tmp_path / "my llama"))
    assert (model.name, model.card.kind) == ("my llama", "decoder (Llama)")
    assert (model.card.bos_id, model.card.eos_id, model.card.pad_id) == (5, 7, None)
    assert model.card.notes == ""


def test_a_file_that_unties_what_its_config_ties_is_believed(tmp_path: Path) -> None:
    reference = oracle("llama", tie_word_embeddings=False)
    folder = save(reference, tmp_path / "model")
    change_json(folder / "config.json", tie_word_embeddings=True)
    assert_same(folder, reference)


@pytest.mark.parametrize(
    ("family", "changes", "named"),
    [
        ("bert", {"position_embedding_type": "relative_key"}, "position_embedding_type"),
        ("bert", {"is_decoder": True}, "is_decoder"),
        ("bert", {"hidden_act": "swish"}, "hidden_act"),
        ("bert", {"num_attention_heads": 5}, "not divisible"),
        ("bert", {"hidden_size": "16"}, "hidden_size"),
        ("bert", {"hidden_size": True}, "hidden_size"),
        ("bert", {"num_hidden_layers": -1}, "num_hidden_layers"),
        ("bert", {"vocab_size": "…"}, "no vocab_size"),
        ("bert", {"layer_norm_eps": "tiny"}, "layer_norm_eps"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
        ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention"),
        ("gpt2", {"activation_function": ["gelu"]}, "activation_function"),
        ("llama", {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "rope_type"),
        ("llama", {"rope_scaling": {"type": "linear", "factor": 2.0}}, "type"),
        ("llama", {"rope_parameters": {"rope_type": "yarn"}}, "rope_type"),
        ("llama", {"rope_scaling": "linear"}, "rope_scaling"),
        ("llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ("llama", {"hidden_act": "gelu"}, "hidden_act"),
        ("llama", {"sliding_window": 8}, "sliding_window"),
        ("llama", {"num_key_value_heads": 4}, "n_kv_heads"),
        ("llama", {"attention_bias": "yes"}, "attention_bias"),
        ("llama", {"quantization_config": {"bits": 4}}, "quantization_config"),
        ("llama", {"model_type": "mamba"}, "'mamba'"),
        ("llama", {"model_type": None}, "None"),
    ],
)
def test_what_the_engine_does_not_compute_is_refused_by_name(
    tmp_path: Path, family: str, changes: dict[str, Any], named: str
) -> None:
    folder = save(oracle(family), tmp_path / "model")
    change_json(folder / "config.json", **changes)
    with pytest.raises(ModelError, match=named):
        zoo.load(folder)
