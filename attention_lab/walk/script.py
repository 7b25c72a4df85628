"""The walk to take away: an .npz file with its numbers, and a script that makes them again."""

import inspect
import io
from collections.abc import Mapping

import numpy as np
import torch

from attention_lab.tracing.trace import Trace
from attention_lab.walk.inputs import Inputs, to_arrays
from attention_lab.walk.numbers import Arrays, largest_difference
from attention_lab.walk.stages import Stage

HEADER = '''\
"""One query's way through an attention site, from the numbers in {file}; needs numpy and torch."""

import math
import sys

import numpy as np
import torch
from torch import Tensor

data = np.load(sys.argv[1] if len(sys.argv) > 1 else "{file}")
for name in data.files:  # numbers become names; what the model had in float32 is counted in float64
    array = data[name]
    number = torch.from_numpy(array.astype(np.float64) if array.dtype == np.float32 else array)
    globals()[name] = number if array.ndim else array.item()
all_mask, all_bias = mask, bias  # of all heads; below are those of the chosen one
mask, bias = mask[head if len(mask) > 1 else 0], bias[head if len(bias) > 1 else 0]

'''
FOOTER = """
worst = 0.0
for name in (n for n in data.files if n.startswith("expected_")):
    got, expected = globals()[name.removeprefix("expected_")], torch.from_numpy(data[name])
    same = torch.isneginf(got.double()) & torch.isneginf(expected.double())
    deviation = float((got.double() - expected.double()).masked_fill(same, 0.0).abs().max())
    worst = max(worst, deviation)
    print(f"{{name.removeprefix('expected_'):16s}} largest deviation {{deviation:.1e}}")
print(f"all              largest deviation {{worst:.1e}}")
"""


def export(inputs: Inputs, stages: list[Stage], head: int, query: int, key: int) -> bytes:
    """The inputs and each stage's numbers, which the script has to meet, as an .npz file."""
    arrays = to_arrays(inputs)
    arrays |= {"head": np.array(head), "query": np.array(query), "key": np.array(key)}
    arrays["d_head"] = np.array(inputs.w_q.shape[0] // inputs.n_heads)
    arrays |= {f"expected_{name}": value.numpy() for name, value in numbers(stages).items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def script(stages: list[Stage], file: str) -> str:
    """The lines of all stages as one script that reads `file` and prints each deviation."""
    functions = dict.fromkeys(function for stage in stages for function in stage.functions)
    sources = "\n\n".join(inspect.getsource(function) for function in functions)
    lines = "\n\n".join(f"# {stage.title}\n" + "\n".join(stage.lines) for stage in stages)
    return HEADER.format(file=file) + "\n" + sources + "\n\n" + lines + "\n" + FOOTER.format()


def numbers(stages: list[Stage]) -> Arrays:
    """All numbers of the walk by name."""
    return {name: value for stage in stages for name, value in stage.arrays.items()}


def captured(trace: Trace, site: str, head: int, query: int) -> dict[str, np.ndarray]:
    """What the model itself computed in float32, by the names of the walk's numbers."""
    found = trace[site]
    stack, layer, part = site.split(".")
    after = trace.residual(f"{stack}.{layer}", "cross" if part == "cross" else "mid")
    is_pre = trace.model.config.norm_place == "pre"
    return {
        "q": found.q,
        "k": found.k,
        "v": found.v,
        "scores": found.scores[head],
        "masked_scores": found.masked_scores[head],
        "weights": found.weights[head, query],
        "z": found.z[head, query],
        "all_z": found.z,
        "attn_out": found.attn_out,
        "residual" if is_pre else "normed": after,
    }


def deviations(stages: list[Stage], model: Mapping[str, np.ndarray]) -> dict[str, float]:
    """How far the model's float32 numbers lie from the walk's float64, at most, by name."""
    exact = numbers(stages)
    return {
        name: largest_difference(exact[name], torch.from_numpy(np.array(value)))
        for name, value in model.items()
    }
