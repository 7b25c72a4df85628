"""A model that is ready to run: the Transformer, its tokenizers, and what is known about it."""

from dataclasses import dataclass
from functools import cached_property

from tokenizers import Tokenizer

from attention_lab.config import ModelConfig
from attention_lab.model.transformer import Transformer


@dataclass(frozen=True)
class ModelCard:
    """Where a model comes from, and the ids of its special tokens (None: it has none)."""

    title: str
    kind: str
    licence: str
    source: str
    trained: bool
    bos_id: int | None = None
    eos_id: int | None = None
    pad_id: int | None = None
    notes: str = ""


@dataclass(frozen=True, eq=False)
class Model:
    """A loaded model. Many runs may share it; nothing in a run changes it."""

    name: str
    config: ModelConfig
    module: Transformer
    tokenizer: Tokenizer
    target_tokenizer: Tokenizer | None
    card: ModelCard

    @cached_property
    def n_parameters(self) -> int:
        """How many numbers were learned; what two layers share counts once."""
        return sum(parameter.numel() for parameter in self.module.parameters())
