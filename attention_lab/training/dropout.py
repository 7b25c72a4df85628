"""Dropout for training on a CPU: torch's own draws one number an element, which costs more than
the matrix products of a small model; this one draws eight bytes at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn

_source: ContextVar[torch.Generator | None] = ContextVar("random source of dropout", default=None)


@contextmanager
def drawing_from(seed: int) -> Iterator[None]:
    """Within this block, in this thread, dropout draws from a generator of its own."""
    token = _source.set(torch.Generator().manual_seed(seed))
    try:
        yield
    finally:
        _source.reset(token)


class ByteDropout(nn.Module):
    """Dropout with `p` rounded to a multiple of 1/256."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.threshold = round(p * 256)

    def forward(self, x: Tensor) -> Tensor:
        """Zero elements at random and scale the rest, so that the mean stays; only in training."""
        if not self.training or self.threshold == 0:
            return x
        n = x.numel()
        words = torch.empty(-(-n // 8), dtype=torch.int64)
        words.random_(-(2**63), None, generator=_source.get())
        keep = (words.view(torch.uint8)[:n] >= self.threshold).view(x.shape)
        return x * keep.to(x.dtype).mul_(256 / (256 - self.threshold))


def use_byte_dropout(module: nn.Module, p: float, p_inner: float) -> None:
    """Put `ByteDropout` in the place of every dropout of `module`.

    `p` holds for embeddings and what sublayers add, `p_inner` for attention weights and the inner
    layer of the feed-forward net. Parameters and their names stay as they are; called again, it
    changes the shares.
    """
    for name, child in list(module.named_modules()):
        if isinstance(child, nn.Dropout | ByteDropout):
            parent, _dot, own = name.rpartition(".")
            inner = parent.endswith(("attn", "mlp"))
            setattr(module.get_submodule(parent), own, ByteDropout(p_inner if inner else p))
