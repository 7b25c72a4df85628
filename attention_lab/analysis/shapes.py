"""The shape trace: every module that runs on a text, in order, with shapes and statistics.

It listens to a twin: a module of its own that shares the model's parameters in memory, so that
hooks never touch the model that others use.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from attention_lab.analysis.letters import (
    Axes,
    Letters,
    axes,
    module_letters,
    operation,
    residual,
)
from attention_lab.model.attention import POINTS
from attention_lab.model.layers import Embedding
from attention_lab.model.points import Point
from attention_lab.model.transformer import Output, Transformer
from attention_lab.tracing.gate import gate
from attention_lab.zoo import parameters
from attention_lab.zoo.loaded import Model

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """One module, or one step between modules such as a view. Statistics are of the output.

    Mean, standard deviation, smallest and largest are over finite numbers; `non_finite` counts the
    others (-inf where a mask is closed). `parameters` are the module's own, without its children's.
    """

    name: str
    kind: str
    operation: str
    before: tuple[Letters, ...]  # of each input, as letters …
    before_numbers: tuple[Numbers, ...]  # … and as numbers
    after: Letters
    after_numbers: Numbers
    parameters: int
    mean: float
    std: float
    smallest: float
    largest: float
    non_finite: int


def shape_trace(
    model: Model, ids: Sequence[int], target_ids: Sequence[int] | None = None
) -> tuple[Row, ...]:
    """Run the model as it was trained on these tokens, and note each module that runs.

    `target_ids` (encoder-decoder only) begin with the start token.
    """
    module = twin(model)
    listener = _Listener(module)
    target = None if target_ids is None else torch.tensor([list(target_ids)])
    with gate(), torch.inference_mode():
        module(torch.tensor([list(ids)]), target)
    return tuple(row for row in listener.rows if row is not None)


def twin(model: Model) -> Transformer:
    """A module of its own with the same parameters, not copied but shared."""
    module = parameters.empty(model.config)
    module.load_state_dict(model.module.state_dict(), assign=True)
    return module.eval().requires_grad_(False)


def to_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """One row a module; shapes as letters, "(batch, length)", and as numbers, "(1, 14)"."""
    return pd.DataFrame(
        {
            "module": row.name or "model",
            "kind": row.kind,
            "operation": row.operation,
            "input letters": ", ".join(map(_written, row.before)),
            "input": ", ".join(map(_written, row.before_numbers)),
            "output letters": _written(row.after),
            "output": _written(row.after_numbers),
            "parameters": row.parameters,
            "mean": row.mean,
            "std": row.std,
            "smallest": row.smallest,
            "largest": row.largest,
            "non-finite": row.non_finite,
        }
        for row in rows
    )


def statistics(tensor: Tensor) -> tuple[float, float, float, float, int]:
    """Mean, standard deviation, smallest, largest of the finite numbers, count of the others.

    All are NaN where nothing is finite. `tensor` has at least one number.
    """
    numbers, others = tensor.float(), 0
    low, high = numbers.aminmax()  # NaN and infinities show in one of them
    n = numbers.numel()
    if low.isfinite() and high.isfinite():
        mean = numbers.mean()
        away = numbers - mean
    else:
        finite = numbers.abs() < math.inf
        others, n = n - int(finite.sum()), int(finite.sum())
        if n == 0:
            return (math.nan,) * 4 + (others,)
        low = numbers.where(finite, math.inf).min()
        high = numbers.where(finite, -math.inf).max()
        mean = numbers.where(finite, 0.0).sum() / n
        away = (numbers - mean).where(finite, 0.0)
    std = torch.linalg.vector_norm(away) / math.sqrt(n)  # five times as fast as torch.std
    return float(mean), float(std), float(low), float(high), others


class _Listener:
    """The hooks on a twin. A module's place is where it begins, before its children."""

    def __init__(self, module: Transformer) -> None:
        self.rows: list[Row | None] = []
        self._module, self._config = module, module.config
        self._started: list[int] = []  # places of the modules that are running
        self._seen: dict[str, Tensor] = {}  # of the attention that is running
        zero = torch.zeros(1)
        self._measured = zero, statistics(zero)  # kept, so that its memory stays its own
        for name, child in module.named_modules():
            if isinstance(child, Point):
                child.register_forward_hook(self._point(name))
            elif not isinstance(child, nn.ModuleList | nn.ModuleDict):
                child.register_forward_pre_hook(self._begin)
                child.register_forward_hook(self._end(name))

    def _begin(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        self._started.append(len(self.rows))
        self.rows.append(None)

    def _end(self, name: str) -> Any:
        def hook(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            before, after = module_letters(self._config, name)
            kind = type(module).__name__
            own = sum(p.numel() for p in module.parameters(recurse=False))
            text = operation(self._config, name, kind)
            place = self._started.pop()
            if isinstance(output, Output):
                if output.logits is not None and self._module.unembed is None:
                    self._shared_unembed(output.hidden, output.logits)
                output = output.hidden if output.logits is None else output.logits
            inputs = args[: len(before)]
            self.rows[place] = self._row(name, kind, text, before, inputs, after, output, own)
            self._segment(name)
            if name.endswith((".w_q", ".w_k", ".w_v")):
                self._split(name, output)

        return hook

    def _segment(self, name: str) -> None:
        """BERT's segments are added without a call: note them after what they are added to."""
        stack, _, rest = name.partition(".")
        if rest not in ("embed.token", "embed.position"):
            return
        embed = self._module.get_submodule(f"{stack}.embed")
        assert isinstance(embed, Embedding)
        if embed.segment is None or (embed.position is not None and rest == "embed.token"):
            return
        table, own = embed.segment.weight, f"{stack}.embed.segment"
        before, after = module_letters(self._config, own)
        row = self._row(
            own, "Embedding", "row 0, added", before, (table,), after, table[0], table.numel()
        )
        self.rows.append(row)

    def _shared_unembed(self, hidden: Tensor, logits: Tensor) -> None:
        before, after = module_letters(self._config, "unembed")
        text = "x Eᵀ (E: the token embedding, shared)"
        self.rows.append(self._row("unembed", "linear", text, before, (hidden,), after, logits))

    def _point(self, name: str) -> Any:
        owner, _, at = name.partition(".at.")
        named = f"{owner}.{at}"

        def hook(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
            here = axes(self._config, owner)
            if at in POINTS:
                self.rows += self._attention(owner, at, here, output)
                self._seen[at] = output
            else:
                text, stream = residual(self._config, at), here.stream
                self.rows.append(
                    self._row(named, "Point", text, (stream,), (output,), stream, output)
                )

        return hook

    def _attention(self, owner: str, at: str, here: Axes, output: Tensor) -> Iterator[Row]:
        """The rows of one named point of an attention, with the views that lead to it."""
        seen, name, scores = self._seen, f"{owner}.{at}", here.scores
        q, k, v = (here.heads(letter)[2] for letter in "qkv")
        mask: Letters = ("1", "1", *scores[2:])
        if at in ("q", "k", "v"):
            rotates = self._config.position == "rotary" and at != "v"
            turns = rotates and not owner.endswith("cross_attn")
            text, one = "turned by the angle of its position" if turns else at, (seen[f"w_{at}"],)
            letters = here.heads(at)[2]
            yield self._row(name, "Point", text, (letters,), one, letters, output)
        elif at == "scores":
            bias = " + bias" if self._config.position == "alibi" else ""
            group = self._config.n_heads // self._config.n_kv_heads
            shared = f", each k for {group} heads" if group > 1 else ""
            text, both = f"q kᵀ / √d_head{bias}{shared}", (seen["q"], seen["k"])
            yield self._row(name, "Point", text, (q, k), both, scores, output)
        elif at == "mask":
            yield self._row(name, "Point", "True = may attend", (), (), mask, output)
        elif at == "masked_scores":
            text, both = "scores, -inf where mask is False", (seen["scores"], seen["mask"])
            yield self._row(name, "Point", text, (scores, mask), both, scores, output)
        elif at == "weights":
            one = (seen["masked_scores"],)
            yield self._row(name, "Point", "softmax(dim=-1)", (scores,), one, scores, output)
        elif at == "z":
            both = (seen["weights"], seen["v"])
            yield self._row(name, "Point", "weights v", (scores, v), both, q, output)
            z, split, merged = here.merge
            turned = output.transpose(1, 2)
            yield self._row(name, "transpose", "transpose(1, 2)", (z,), (output,), split, turned)
            flat, text = turned.flatten(-2), "flatten(-2): a copy, its memory is not in order"
            yield self._row(name, "view", text, (split,), (turned,), merged, flat)
        else:
            yield self._row(
                name, "Point", "the result", (here.stream,), (output,), here.stream, output
            )

    def _split(self, name: str, x: Tensor) -> None:
        """The split into heads as what it is: a view and a transpose of what the matrix gave."""
        owner, at = name[: -len(".w_q")], name[-1]
        flat, split, heads = axes(self._config, owner).heads(at)
        viewed = x.view(*x.shape[:2], -1, self._config.d_head)
        text, own = f"view(batch, {split[1]}, {split[2]}, d_head)", f"{owner}.{at}"
        self.rows.append(self._row(own, "view", text, (flat,), (x,), split, viewed))
        turned = self._seen[f"w_{at}"] = viewed.transpose(1, 2)
        text = "transpose(1, 2)"
        self.rows.append(self._row(own, "transpose", text, (split,), (viewed,), heads, turned))

    def _row(
        self,
        name: str,
        kind: str,
        text: str,
        before: tuple[Letters, ...],
        inputs: Sequence[Tensor],
        after: Letters,
        output: Tensor,
        own: int = 0,
    ) -> Row:
        """A row; a tensor that is the last one again, or a view of it, is not measured twice."""
        numbers = tuple(tuple(x.shape) for x in inputs)
        known, found = self._measured
        if known.data_ptr() != output.data_ptr() or known.numel() != output.numel():
            found = statistics(output)
            self._measured = output, found
        return Row(name, kind, text, before, numbers, after, tuple(output.shape), own, *found)


def _written(shape: Letters | Numbers) -> str:
    return f"({', '.join(map(str, shape))})"
