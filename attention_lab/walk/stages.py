"""The walk: each stage with its numbers, its formula, its shapes and its lines of PyTorch."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from attention_lab.i18n import _
from attention_lab.walk import formulas, steps
from attention_lab.walk.inputs import Inputs, Norm
from attention_lab.walk.numbers import Arrays, compute

Shape = tuple[str, tuple[int, ...]]  # as letters and as numbers
Functions = tuple[Callable[..., Any], ...]


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage. `arrays` holds its numbers by name, the outcome last."""

    key: str
    title: str
    formula: str  # LaTeX
    before: Shape
    after: Shape
    arrays: Arrays
    lines: tuple[str, ...]
    functions: Functions = ()  # of steps.py, called by the lines

    @property
    def outcome(self) -> Tensor:
        """The stage's last array."""
        return list(self.arrays.values())[-1]

    @property
    def code(self) -> str:
        """The stage's lines of PyTorch, with the functions they call."""
        return "\n".join([*map(inspect.getsource, self.functions), *self.lines])


@dataclass(frozen=True, eq=False)
class _Walk:
    """What all stages are made from."""

    inputs: Inputs
    query: int
    key: int
    numbers: Arrays

    def pick(self, *names: str) -> Arrays:
        return {name: self.numbers[name] for name in names}

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """Queries, keys, heads, d_head, d_model."""
        width, d_model = self.inputs.w_q.shape
        n, m = self.inputs.x.shape[0], self.inputs.context.shape[0]
        return n, m, self.inputs.n_heads, width // self.inputs.n_heads, d_model


def walk(inputs: Inputs, head: int, query: int, key: int) -> list[Stage]:
    """All stages for one head and one query token; `key` is the token of the single score."""
    made = _Walk(inputs, query, key, compute(inputs, head, query, key))
    return [*_into_heads(made), *_scores(made), *_weights(made), *_out_of_heads(made)]


def _into_heads(made: _Walk) -> list[Stage]:
    inputs = made.inputs
    n, _m, h, d, d_model = made.sizes
    stream: Shape = ("query, d_model", (n, d_model))
    context = "context" if inputs.is_cross else "x_normed"
    lines = [
        "q = split_heads(project(x_normed, w_q, b_q), n_heads)",
        f"k = split_heads(project({context}, w_k, b_k), n_kv_heads)",
        f"v = split_heads(project({context}, w_v, b_v), n_kv_heads)",
    ]
    functions: list[Callable[..., Any]] = [steps.project, steps.split_heads]
    if inputs.angles is not None:
        lines.append("q, k = rotate(q, angles), rotate(k, angles)")
        functions.append(steps.rotate)
    if inputs.n_kv_heads < h:
        lines.append("k, v = share_heads(k, n_heads), share_heads(v, n_heads)")
        functions.append(steps.share_heads)
    return [
        Stage(
            "x",
            _("The residual vector"),
            formulas.residual(inputs),
            stream,
            stream,
            made.pick("x", "x_normed"),
            _norm_lines("x_normed", "x", inputs.pre_norm, "pre_norm"),
            _norm_functions(inputs.pre_norm),
        ),
        Stage(
            "qkv",
            _("Queries, keys and values"),
            formulas.projections(inputs),
            stream,
            ("head, length, d_head", (h, n, d)),
            made.pick("k", "v", "q"),
            tuple(lines),
            tuple(functions),
        ),
    ]


def _scores(made: _Walk) -> list[Stage]:
    n, m, _h, d, _d_model = made.sizes
    square: Shape = ("query, key", (n, m))
    return [
        Stage(
            "products",
            _("One score: the products and their sum"),
            formulas.one_score(made.query, made.key, d),
            ("d_head and d_head", (d, d)),
            ("a number", ()),
            made.pick("products", "dot"),
            ("products = multiply(q[head, query], k[head, key])", "dot = products.sum()"),
            (steps.multiply,),
        ),
        Stage(
            "scores",
            _("Divided by the square root of d_head"),
            formulas.scores(made.inputs, d),
            square,
            square,
            made.pick("dots", "scores"),
            ("dots = q[head] @ k[head].T", "scores = scaled(dots, d_head, bias)"),
            (steps.scaled,),
        ),
        Stage(
            "mask",
            _("The mask"),
            formulas.MASK,
            square,
            square,
            made.pick("mask", "masked_scores"),
            ("masked_scores = masked(scores, mask)",),
            (steps.masked,),
        ),
    ]


def _weights(made: _Walk) -> list[Stage]:
    _n, m, _h, d, _d_model = made.sizes
    return [
        Stage(
            "softmax",
            _("The softmax of the row"),
            formulas.softmax(made.query),
            ("key", (m,)),
            ("key", (m,)),
            made.pick("exps", "total", "weights"),
            (
                "exps = exponentials(masked_scores[query])",
                "total = exps.sum()",
                "weights = quotient(exps)",
            ),
            (steps.exponentials, steps.quotient),
        ),
        Stage(
            "z",
            _("The weighted sum of the values"),
            formulas.weighted_sum(made.query),
            ("key and key, d_head", (m, d)),
            ("d_head", (d,)),
            made.pick("weighted_values", "z"),
            ("weighted_values = weights[:, None] * v[head]", "z = mix(weights, v[head])"),
            (steps.mix,),
        ),
    ]


def _out_of_heads(made: _Walk) -> list[Stage]:
    inputs = made.inputs
    n, _m, h, d, d_model = made.sizes
    stream: Shape = ("query, d_model", (n, d_model))
    return [
        Stage(
            "concat",
            _("The heads put side by side"),
            formulas.concat(h),
            ("head, query, d_head", (h, n, d)),
            ("query, head · d_head", (n, h * d)),
            made.pick("all_z", "concat"),
            (
                "all_weights = softmax(masked(scaled(q @ k.mT, d_head, all_bias), all_mask))",
                "all_z = mix(all_weights, v)",
                "concat = merge_heads(all_z)",
            ),
            (steps.softmax, steps.merge_heads),
        ),
        Stage(
            "output",
            _("Through W_O"),
            formulas.output(inputs),
            ("query, head · d_head", (n, h * d)),
            stream,
            made.pick("attn_out"),
            ("attn_out = project(concat, w_o, b_o)",),
        ),
        Stage(
            "residual",
            _("Added to the residual stream"),
            r"x'=x+\mathrm{out}",
            stream,
            stream,
            made.pick("residual"),
            ("residual = x + attn_out",),
        ),
        Stage(
            "norm",
            _("The norm that follows"),
            formulas.norm(inputs.post_norm),
            stream,
            stream,
            made.pick("normed"),
            _norm_lines("normed", "residual", inputs.post_norm, "post_norm"),
            _norm_functions(inputs.post_norm),
        ),
    ]


def _norm_lines(name: str, of: str, norm: Norm | None, which: str) -> tuple[str, ...]:
    if norm is None:
        return (f"{name} = {of}",)
    if norm.bias is None:
        return (f"{name} = rms_norm({of}, {which}_weight, {which}_eps)",)
    return (f"{name} = layer_norm({of}, {which}_weight, {which}_bias, {which}_eps)",)


def _norm_functions(norm: Norm | None) -> Functions:
    if norm is None:
        return ()
    return (steps.rms_norm,) if norm.bias is None else (steps.layer_norm,)
