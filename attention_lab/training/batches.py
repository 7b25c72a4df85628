"""Batches of about equally many tokens, in an order that a seed decides."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from attention_lab.training.vocabulary import SPECIAL

PAD_ID, BOS_ID, EOS_ID, UNK_ID = range(len(SPECIAL))

Ids = tuple[list[int], list[int]]  # a pair's source and target, without special tokens


@dataclass(frozen=True)
class Batch:
    """Padded ids: the source ends in [EOS], `target` begins with [BOS], `labels` end in [EOS]."""

    source: Int[Tensor, "batch source"]
    target: Int[Tensor, "batch target"]
    labels: Int[Tensor, "batch target"]  # what the decoder should say at each place of `target`

    @property
    def tokens(self) -> int:
        """Tokens that are no padding, both sides."""
        return int((self.source != PAD_ID).sum() + (self.labels != PAD_ID).sum())

    def shards(self, n: int) -> list["Batch"]:
        """The batch in at most `n` parts of about equally many rows."""
        parts = zip(self.source.chunk(n), self.target.chunk(n), self.labels.chunk(n), strict=True)
        return [Batch(*part) for part in parts]


def pad(rows: Sequence[Sequence[int]]) -> Int[Tensor, "batch position"]:
    """Rows of different lengths as one tensor, filled up with [PAD] on the right."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[PAD_ID] * (longest - len(row))] for row in rows])


def make_batch(pairs: Sequence[Ids]) -> Batch:
    """One batch of the given pairs."""
    return Batch(
        source=pad([[*source, EOS_ID] for source, _target in pairs]),
        target=pad([[BOS_ID, *target] for _source, target in pairs]),
        labels=pad([[*target, EOS_ID] for _source, target in pairs]),
    )


def make_batches(pairs: Sequence[Ids], max_tokens: int, rng: random.Random) -> list[Batch]:
    """Pairs of like length together, at most `max_tokens` a side with padding; shuffled.

    A pair longer than `max_tokens` is a batch of its own.
    """
    order = sorted(
        range(len(pairs)),
        key=lambda i: (len(pairs[i][1]), len(pairs[i][0]) + rng.random()),
    )
    groups: list[list[Ids]] = []
    widest = 0
    for i in order:
        width = max(len(pairs[i][0]), len(pairs[i][1])) + 1
        widest = max(widest, width)
        if not groups or widest * (len(groups[-1]) + 1) > max_tokens:
            groups.append([])
            widest = width
        groups[-1].append(pairs[i])
    rng.shuffle(groups)
    return [make_batch(group) for group in groups]
