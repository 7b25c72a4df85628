"""What a walk starts from: the residual stream, the parameters of one site, its mask."""

from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor, nn

from attention_lab.model import positions
from attention_lab.tracing.trace import Trace


@dataclass(frozen=True, eq=False)
class Norm:
    """A normalisation's parameters; without `bias` it is an RMSNorm."""

    weight: Tensor
    bias: Tensor | None
    eps: float


@dataclass(frozen=True, eq=False)
class Inputs:
    """Everything a site reads, in float64. Weights are out × in, as PyTorch stores them."""

    x: Tensor  # query, d_model: the residual stream
    context: Tensor  # key, d_model: what keys and values are made of
    w_q: Tensor
    b_q: Tensor
    w_k: Tensor
    b_k: Tensor
    w_v: Tensor
    b_v: Tensor
    w_o: Tensor
    b_o: Tensor
    mask: Tensor  # head or 1, query, key
    bias: Tensor  # head or 1, query, key: position bias, 0 where there is none
    n_heads: int
    n_kv_heads: int
    is_cross: bool = False
    pre_norm: Norm | None = None  # before the site, in pre-norm models
    post_norm: Norm | None = None  # after the sum; in pre-norm models the next sub-layer's
    angles: Tensor | None = None  # position, d_head: rotary


def of_trace(trace: Trace, site: str) -> Inputs:
    """The inputs of a site of a trace."""
    stack, layer, part = site.split(".")
    found, config = trace[site], trace.model.config
    block = trace.model.module.get_submodule(f"{stack}.layers.{layer}")
    attention = block.get_submodule(f"{part}_attn")
    own = _norm(block.get_submodule(f"{part}_norm"))
    is_pre, is_cross = config.norm_place == "pre", part == "cross"
    x = _double(trace.residual(f"{stack}.{layer}", "mid" if is_cross else "pre"))
    has_cross = not is_cross and f"{stack}.{layer}.cross" in trace.sites
    following = block.get_submodule("cross_norm" if has_cross else "mlp_norm")
    after = _norm(following) if is_pre else own
    rotary = trace.position == "rotary" and not is_cross
    bias = found.bias()
    where = trace.start + torch.arange(len(found.query_tokens))
    return Inputs(
        x=x,
        context=_double(trace.encoded) if is_cross else x,
        **_parameters(attention),
        mask=torch.from_numpy(np.array(found.mask)),
        bias=torch.zeros(1, 1, 1, dtype=torch.float64) if bias is None else bias.double(),
        n_heads=config.n_heads,
        n_kv_heads=config.n_kv_heads,
        is_cross=is_cross,
        pre_norm=own if is_pre else None,
        post_norm=after,
        angles=positions.rotary_angles(where, config.d_head, config.rotary_base).double()
        if rotary
        else None,
    )


def to_arrays(inputs: Inputs) -> dict[str, np.ndarray]:
    """The inputs as float32 arrays for a file; absent ones are left out."""
    arrays: dict[str, np.ndarray] = {}
    for field in fields(inputs):
        value = getattr(inputs, field.name)
        if isinstance(value, Norm):
            arrays[f"{field.name}_weight"] = value.weight.float().numpy()
            arrays[f"{field.name}_eps"] = np.array(value.eps)
            if value.bias is not None:
                arrays[f"{field.name}_bias"] = value.bias.float().numpy()
        elif isinstance(value, Tensor):
            arrays[field.name] = (value if value.dtype == torch.bool else value.float()).numpy()
        elif value is not None:
            arrays[field.name] = np.array(value)
    return arrays


def _parameters(attention: nn.Module) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for letter in "qkvo":
        linear = attention.get_submodule(f"w_{letter}")
        weight = linear.get_parameter("weight").detach().double()
        bias = getattr(linear, "bias", None)
        found[f"w_{letter}"] = weight
        zeros = torch.zeros(len(weight), dtype=torch.float64)
        found[f"b_{letter}"] = zeros if bias is None else bias.detach().double()
    return found


def _norm(module: nn.Module) -> Norm:
    bias = getattr(module, "bias", None)
    weight = module.get_parameter("weight").detach().double()
    assert isinstance(module, nn.LayerNorm | nn.RMSNorm)
    return Norm(weight, None if bias is None else bias.detach().double(), float(module.eps or 0))


def _double(array: np.ndarray | None) -> Tensor:
    assert array is not None
    return torch.from_numpy(np.array(array, dtype=np.float64))
