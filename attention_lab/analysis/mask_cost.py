"""What a mask keeps: the share of cells, and of blocks, which is what a kernel can leave out."""

from collections.abc import Sequence

import pandas as pd
import torch
from jaxtyping import Bool
from torch import Tensor
from torch.nn import functional

from attention_lab.model import masks

SIDES = (16, 64, 128)  # blocks of kernels; 128 is FlexAttention's own default


def blocks_kept(mask: Bool[Tensor, "query key"], side: int) -> Bool[Tensor, "row column"]:
    """Which blocks have an open cell in them: a kernel computes these whole, and no others."""
    n_query, n_key = mask.shape
    room = functional.pad(mask, (0, -n_key % side, 0, -n_query % side))
    tiles = room.view(-1, side, room.shape[1] // side, side)  # row, side, column, side
    return tiles.any(dim=3).any(dim=1)


def share(kept: Bool[Tensor, "row column"]) -> float:
    """The share that is True."""
    return float(kept.double().mean())


def cost_table(spec: str, lengths: Sequence[int]) -> pd.DataFrame:
    """The share of cells and of blocks that a mask by its name keeps, a row for each length.

    Columns: length, cells, and "block 16" and so on. Blocks larger than the text are left out
    (NaN). Raises `InputError` for a name that there is not.
    """
    rows = []
    for length in lengths:
        mask = masks.build(spec, torch.ones(length, dtype=torch.bool), length)[0]
        row = {"length": length, "cells": share(mask)}
        for side in SIDES:
            fits = side <= length
            row[f"block {side}"] = share(blocks_kept(mask, side)) if fits else float("nan")
        rows.append(row)
    return pd.DataFrame(rows)
