"""One run of a model: what it listens to, and what it changes."""

from collections.abc import Mapping

import torch
from torch import Tensor

from attention_lab.config import Limits, Position
from attention_lab.errors import ModelError
from attention_lab.i18n import _
from attention_lab.model.points import observing
from attention_lab.model.transformer import Output
from attention_lab.tracing.edits import Change
from attention_lab.tracing.gate import gate
from attention_lab.zoo.loaded import Model

# Recomputed from q, k and mask when asked for; storing them would double the cost of a run.
DERIVED = frozenset({"scores", "masked_scores"})


class Run:
    """Observes one forward, keeps what the trace needs, and makes the changes asked for."""

    def __init__(self, changes: Mapping[str, Change], leave_out: frozenset[str]) -> None:
        self.captured: dict[str, Tensor] = {}
        self._changes = changes
        self._leave_out = leave_out

    def visit(self, name: str, tensor: Tensor) -> Tensor:
        """Called by each `Point`: change the tensor if asked to, and keep it (batch 0)."""
        change = self._changes.get(name)
        if change is not None:
            tensor = change(tensor, self.captured)
        if change is not None or name.rpartition(".")[2] not in self._leave_out:
            self.captured[name] = tensor[0]
        return tensor


def leave_out(model: Model, n_source: int, n_target: int, limits: Limits) -> frozenset[str]:
    """The attention stages that this run derives on demand instead of storing them."""
    config = model.config
    cells = n_source**2 if "encoder" in config.stacks else 0
    if "decoder" in config.stacks:
        both = config.kind == "encoder-decoder"
        cells += n_target**2 + n_target * n_source if both else n_source**2
    n_bytes = 4 * config.n_layers * config.n_heads * cells
    return DERIVED | {"weights"} if n_bytes > limits.weight_bytes else DERIVED


def check_mode(model: Model) -> None:
    """Raise `ModelError` for a model in training mode: its dropout would change the numbers.

    To switch it off here would change a model that others may be training.
    """
    if model.module.training:
        message = _("{name} is in training mode; call its module.eval() before it is traced.")
        raise ModelError(message.format(name=model.name))


def execute(
    model: Model,
    run: Run,
    ids: Tensor,
    target_ids: Tensor | None,
    position: Position | None,
    start: int,
    logits: bool,
) -> Output:
    """One forward of `model` under `run`; at most as many at once as the machine has cores.

    Raises `ModelError` for a model in training mode.
    """
    check_mode(model)
    with gate(), torch.inference_mode(), observing(run):
        output: Output = model.module(
            ids, target_ids, position=position, start=start, logits=logits
        )
        return output
