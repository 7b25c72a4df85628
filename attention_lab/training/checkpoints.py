"""A training run on disk: safetensors and JSON only, and every write is whole or not there."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn, optim

from attention_lab.errors import ModelError
from attention_lab.i18n import _

Tensors = dict[str, Tensor]


def write_text(path: Path, text: str) -> None:
    """Write a text file in one go: a reader sees the old one or the new one."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def write_tensors(path: Path, tensors: Tensors, state: Mapping[str, Any] | None = None) -> None:
    """Write tensors, and with them a JSON record, in one go."""
    temporary = path.with_name(path.name + ".new")
    save_file(tensors, temporary, metadata={"state": json.dumps(state or {})})
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    temporary.replace(path)


def read_tensors(path: Path) -> tuple[Tensors, dict[str, Any]]:
    """What `write_tensors` wrote. Raises `ModelError` for any other file."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            state: dict[str, Any] = json.loads((file.metadata() or {}).get("state", "{}"))
    except (OSError, SafetensorError, ValueError) as error:
        message = _("The checkpoint {path} cannot be read: {error}.")
        raise ModelError(message.format(path=path, error=error)) from error
    return tensors, state


def parameters(module: nn.Module) -> Tensors:
    """A copy of the parameters by name."""
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def pack(module: nn.Module, optimizer: optim.Adam) -> Tensors:
    """Parameters and Adam's two moments, under names of their own."""
    tensors = {f"model.{name}": value for name, value in parameters(module).items()}
    for name, parameter in module.named_parameters():
        moments = optimizer.state.get(parameter, {})
        for moment in ("exp_avg", "exp_avg_sq", "step"):
            if moment in moments:
                tensors[f"{moment}.{name}"] = moments[moment].detach().clone()
    return tensors


def unpack(tensors: Tensors, module: nn.Module, optimizer: optim.Adam) -> None:
    """The inverse of `pack`. Raises `ModelError` where the tensors are not this model's."""
    own = {n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")}
    try:
        module.load_state_dict(own)
    except RuntimeError as error:
        message = _("The checkpoint is of another model; use another folder with --out ({error}).")
        raise ModelError(message.format(error=str(error).splitlines()[0])) from error
    for name, parameter in module.named_parameters():
        if f"step.{name}" in tensors:
            optimizer.state[parameter] = {
                moment: tensors[f"{moment}.{name}"] for moment in ("step", "exp_avg", "exp_avg_sq")
            }


def average(files: Iterable[Path]) -> Tensors:
    """The mean of the parameters in several files ("Attention Is All You Need", section 6.1)."""
    total: Tensors = {}
    n = 0
    for path in files:
        tensors, _state = read_tensors(path)
        for name, tensor in tensors.items():
            total[name] = total[name] + tensor.double() if n else tensor.double()
        n += 1
    if n == 0:
        raise ModelError(_("There is no checkpoint to average yet; train for an epoch first."))
    return {name: (tensor / n).float() for name, tensor in total.items()}
