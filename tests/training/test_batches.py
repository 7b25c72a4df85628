import random

import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_lab.training.batches import BOS_ID, EOS_ID, PAD_ID, make_batch, make_batches

IDS = st.lists(st.integers(4, 90), min_size=1, max_size=12)


def test_one_batch_by_hand() -> None:
    batch = make_batch([([5, 6], [7]), ([5], [8, 9])])
    assert batch.source.tolist() == [[5, 6, EOS_ID], [5, EOS_ID, PAD_ID]]
    assert batch.target.tolist() == [[BOS_ID, 7, PAD_ID], [BOS_ID, 8, 9]]
    assert batch.labels.tolist() == [[7, EOS_ID, PAD_ID], [8, 9, EOS_ID]]
    assert batch.tokens == 10


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=60), st.integers(0, 9))
def test_every_pair_once_and_within_the_budget(
    pairs: list[tuple[list[int], list[int]]], seed: int
) -> None:
    batches = make_batches(pairs, 40, random.Random(seed))
    found = []
    for batch in batches:
        assert max(batch.source.numel(), batch.labels.numel()) <= 40
        for source, labels in zip(batch.source.tolist(), batch.labels.tolist(), strict=True):
            own = [id for id in source if id != PAD_ID], [id for id in labels if id != PAD_ID]
            assert own[0].pop() == own[1].pop() == EOS_ID
            found.append(own)
    assert sorted(found) == sorted(pairs)
    again = make_batches(pairs, 40, random.Random(seed))
    assert all(torch.equal(a.source, b.source) for a, b in zip(batches, again, strict=True))


def test_shards_are_the_batch() -> None:
    batch = make_batch([([i + 4] * (1 + i % 3), [i + 4]) for i in range(7)])
    shards = batch.shards(2)
    assert [len(shard.source) for shard in shards] == [4, 3]
    assert torch.equal(torch.cat([shard.labels for shard in shards]), batch.labels)
    assert len(make_batch([([4], [4])]).shards(2)) == 1
