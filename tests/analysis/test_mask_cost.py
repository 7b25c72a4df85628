"""What masks keep, against plain counting and against FlexAttention's own block masks."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_block_mask

from attention_lab.analysis.mask_cost import SIDES, blocks_kept, cost_table, share
from attention_lab.errors import InputError


@given(st.integers(1, 33), st.integers(1, 33), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_a_block_is_kept_where_one_of_its_cells_is(n: int, m: int, side: int, seed: int) -> None:
    mask = torch.from_numpy(np.random.default_rng(seed).random((n, m)) < 0.1)
    expected = [
        [
            any(mask[q, k] for q in range(i, min(i + side, n)) for k in range(j, min(j + side, m)))
            for j in range(0, m, side)
        ]
        for i in range(0, n, side)
    ]
    assert blocks_kept(mask, side).tolist() == expected


@pytest.mark.parametrize("width", [0, 4, 100])
def test_blocks_are_those_of_flex_attention(width: int) -> None:
    n = 384

    def near(_batch: object, _head: object, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return (q - k).abs() <= width

    theirs = create_block_mask(near, None, None, n, n, device="cpu")
    row = cost_table(f"window:{width}", [n]).iloc[0]
    assert theirs.BLOCK_SIZE == (128, 128)
    assert 100 * (1 - row["block 128"]) == pytest.approx(theirs.sparsity())


def test_shares_by_hand() -> None:
    table = cost_table("causal", [64, 128])
    assert list(table["length"]) == [64, 128]
    assert list(table["cells"]) == [65 / 128, 129 / 256]  # (n + 1) / 2n
    assert list(table["block 16"]) == [10 / 16, 36 / 64]
    assert table["block 64"].tolist() == [1.0, 3 / 4]
    assert math.isnan(table["block 128"][0])
    assert table["block 128"][1] == 1.0
    assert (cost_table("none", [200]).drop(columns="length") == 1).all(axis=None)
    assert cost_table("window:0", [512])["cells"][0] == 1 / 512
    assert SIDES == (16, 64, 128)
    assert share(torch.eye(4, dtype=torch.bool)) == 0.25


def test_an_unknown_mask_is_refused() -> None:
    with pytest.raises(InputError, match="There is no mask"):
        cost_table("future", [4])
