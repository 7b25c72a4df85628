"""What a family is: how to read its config.json, and where each of our parameters stands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from attention_lab.config import ModelConfig
from attention_lab.zoo.values import Values


@dataclass(frozen=True)
class Piece:
    """Where one of our parameters is found in the family's files."""

    name: str
    transposed: bool = False  # stored in × out; nn.Linear has out × in
    chunk: int = 0  # which of `chunks` equal parts of the rows (after the transpose)
    chunks: int = 1

    def stored_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape in the file of what holds a parameter of `shape`."""
        stored = (shape[0] * self.chunks, *shape[1:])
        return stored[::-1] if self.transposed else stored


@dataclass(frozen=True)
class Family:
    """One family of models, e.g. BERT."""

    title: str
    prefix: str  # in front of the names in files of models with a head, e.g. "bert."
    config: Callable[[Values], ModelConfig]
    layout: Callable[[ModelConfig], dict[str, Piece]]
    unused: str  # a pattern for names of buffers and layers that attention never passes through
    heads: str  # a pattern for task heads: not used, and the card says so
    unembed: str = ""  # the name of the output projection, where the family has one
    renamed: Mapping[str, str] = field(default_factory=dict)  # old endings of names -> new ones
