"""Tiny random models with real tokenizers, for every test that needs a model and no download."""

from dataclasses import replace
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from attention_lab.config import Kind, ModelConfig
from attention_lab.model.transformer import Transformer
from attention_lab.zoo.loaded import Model, ModelCard

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "<s>", "</s>")
# Single words, punctuation and Chinese characters; everything else is [UNK].
TEXT = (
    "the a cat dog animal street mat did not cross sat on it because was too tired . , ! ' "
    "猫 狗 追 老 鼠 é ñ 😀"
)
WORDS = tuple(TEXT.split())
# What a tokenizer puts around the text, as BERT, GPT-2 and translation models do.
AROUND: dict[str, str] = {
    "encoder": "[CLS] $A [SEP]",
    "decoder": "$A",
    "source": "$A </s>",
    "target": "<s> $A",
}


def tiny_tokenizer(around: str = "encoder") -> Tokenizer:
    """A lower-casing word-level tokenizer; `around` is a key of `AROUND`."""
    vocab = {word: id for id, word in enumerate((*SPECIAL, *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(list(SPECIAL))
    special = [(name, vocab[name]) for name in SPECIAL]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=AROUND[around], pair=None, special_tokens=special
    )
    return tokenizer


def byte_tokenizer() -> Tokenizer:
    """A byte-level tokenizer without merges, as GPT-2's on text it never saw: a token a byte."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {character: id for id, character in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def tiny_config(kind: Kind = "encoder", **changes: Any) -> ModelConfig:
    """A small configuration of each kind, with the vocabulary of `tiny_tokenizer`."""
    d_vocab = len(SPECIAL) + len(WORDS)
    config = ModelConfig(
        kind=kind,
        d_vocab=d_vocab,
        d_vocab_target=d_vocab if kind == "encoder-decoder" else 0,
        d_model=16,
        n_layers=2,
        n_heads=4,
        n_kv_heads=4,
        d_head=4,
        d_ff=32,
        max_positions=64,
        unembed=kind != "encoder",
    )
    return replace(config, **changes)


def tiny_module(config: ModelConfig, seed: int = 0) -> Transformer:
    """A Transformer in eval mode whose parameters, norms and biases too, depend on `seed` alone.

    They are drawn larger than for training, so that attention is far from uniform and a mistake in
    any of them moves the output.
    """
    generator = torch.Generator().manual_seed(seed)
    module = Transformer(config).eval().requires_grad_(False)
    for name, parameter in module.named_parameters():
        around = 1.0 if name.endswith("norm.weight") else 0.0
        parameter.copy_(around + 0.4 * torch.randn(parameter.shape, generator=generator))
    return module


def tiny_model(
    kind: Kind = "encoder", *, seed: int = 0, tokenizer: Tokenizer | None = None, **changes: Any
) -> Model:
    """A model of any kind that `lab.trace` accepts; `changes` are fields of its `ModelConfig`.

    With a `tokenizer` of one's own (encoder or decoder), the vocabulary takes its size.
    """
    both = kind == "encoder-decoder"
    if tokenizer is not None:
        changes = {"d_vocab": tokenizer.get_vocab_size(), **changes}
    config = tiny_config(kind, **changes)
    ids: dict[str, int | None] = dict.fromkeys(("bos_id", "eos_id", "pad_id"))
    if tokenizer is None:
        ids = {"bos_id": SPECIAL.index("<s>"), "eos_id": SPECIAL.index("</s>"), "pad_id": 0}
    return Model(
        name=f"tiny-{kind}",
        config=config,
        module=tiny_module(config, seed),
        tokenizer=tokenizer or tiny_tokenizer("source" if both else kind),
        target_tokenizer=tiny_tokenizer("target") if both else None,
        card=ModelCard("Tiny", kind, "none", "random", trained=False, **ids),
    )


class Recorder(dict[str, torch.Tensor]):
    """An observer that changes nothing and keeps every tensor, with its batch axis, by its name."""

    def visit(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        self[name] = tensor
        return tensor
