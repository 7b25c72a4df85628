"""What all exhibits work on: the user's sentence in one head of a real model."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_lab.config import ModelConfig
from attention_lab.model.points import observing
from attention_lab.tracing.edits import check_head
from attention_lab.tracing.gate import gate
from attention_lab.tracing.run import Run
from attention_lab.tracing.site import Site
from attention_lab.tracing.trace import Trace

MOST = 64  # tokens: pictures stay legible, and what runs the model again stays quick

Forward = Callable[..., Tensor]  # (ids, mask=…) → hidden state, (batch, position, d_model)


@dataclass(frozen=True, eq=False)
class Subject:
    """The first `MOST` tokens of a trace, seen from one self-attention head of its first stack.

    Raises `InputError` for a layer or a head that the model does not have.
    """

    trace: Trace
    layer: int
    head: int

    def __post_init__(self) -> None:
        check_head(self.site.n_heads, self.head)

    @property
    def config(self) -> ModelConfig:
        """The model's configuration."""
        return self.trace.model.config

    @property
    def stack(self) -> str:
        """The stack that reads the sentence: "encoder", or "decoder" of a model without one."""
        return self.config.stacks[0]

    @property
    def site(self) -> Site:
        """The self-attention of the chosen layer."""
        return self.trace[f"{self.stack}.{self.layer}.self"]

    @property
    def n(self) -> int:
        """How many tokens are looked at."""
        return min(MOST, len(self.trace.tokens))

    @property
    def left_out(self) -> int:
        """How many tokens of the trace are not looked at."""
        return len(self.trace.tokens) - self.n

    @property
    def labels(self) -> tuple[str, ...]:
        """The tokens as a picture writes them."""
        return self.trace.tokens.labels[: self.n]

    @property
    def ids(self) -> Int[Tensor, "1 n"]:
        """The tokens as the model reads them."""
        return torch.tensor([self.trace.tokens.ids[: self.n]])

    @cached_property
    def q(self) -> Float[Tensor, "head n d"]:
        """The queries of all heads of the layer."""
        return self._cut(self.site.q)

    @cached_property
    def k(self) -> Float[Tensor, "head n d"]:
        """The keys; heads of one group share theirs."""
        return self._cut(self.site.k)

    @cached_property
    def v(self) -> Float[Tensor, "head n d"]:
        """The values."""
        return self._cut(self.site.v)

    @cached_property
    def scores(self) -> Float[Tensor, "n n"]:
        """The chosen head's scores before the mask."""
        return torch.tensor(self.site.scores[self.head, : self.n, : self.n])

    @cached_property
    def mask(self) -> Bool[Tensor, "n n"]:
        """The chosen head's mask in this run; True = may attend."""
        mask = self.site.mask
        return torch.tensor(mask[self.head if len(mask) > 1 else 0, : self.n, : self.n])

    @property
    def embedded(self) -> Float[Tensor, "n d_model"]:
        """What the first layer reads."""
        return torch.tensor(self.trace.residual(f"{self.stack}.0", "pre")[: self.n])

    @property
    def layers(self) -> nn.ModuleList:
        """The blocks of the stack, with the model's own parameters."""
        layers = self.trace.model.module.get_submodule(f"{self.stack}.layers")
        assert isinstance(layers, nn.ModuleList)
        return layers

    @property
    def is_causal(self) -> bool:
        """Whether the model's own mask hides later tokens."""
        return self.stack == "decoder"

    @property
    def forward(self) -> Forward:
        """The stack that reads the sentence, as a function of ids and a mask."""
        module = self.trace.model.module
        return module.encode if module.encoder is not None else module.decode

    def _cut(self, array: np.ndarray) -> Tensor:
        return torch.tensor(array[:, : self.n])


@contextmanager
def capturing() -> Iterator[dict[str, Tensor]]:
    """Within this block, forwards leave their tensors (of batch row 0) here, by name.

    As in a trace, no more blocks run at once than the machine has cores.
    """
    run = Run({}, frozenset())
    with gate(), torch.inference_mode(), observing(run):
        yield run.captured
