"""What a model is made of, in numbers: parameters and multiply-adds by part, and their growth."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from attention_lab.analysis.letters import sizes
from attention_lab.config import ModelConfig
from attention_lab.model.transformer import Transformer

PARTS = (
    *("embedding", "positions", "segments", "self-attention", "cross-attention"),
    *("feed-forward", "norms", "unembedding"),
)
WORK = (
    *("projections", "scores and mix", "cross projections", "cross scores and mix"),
    *("feed-forward", "unembedding"),
)


@dataclass(frozen=True)
class Term:
    """A factor times a product of letters, such as 2 · n_layers · length² · n_heads · d_head."""

    factor: int
    letters: tuple[str, ...]

    def value(self, numbers: dict[str, int]) -> int:
        """The term with numbers for its letters."""
        return self.factor * math.prod(numbers[letter] for letter in self.letters)

    def __str__(self) -> str:
        powers = {letter: self.letters.count(letter) for letter in self.letters}
        shown = [name + ("" if power == 1 else "²") for name, power in powers.items()]
        return " · ".join([str(self.factor)] * (self.factor != 1) + shown)


def parameter_table(module: Transformer) -> pd.DataFrame:
    """Parameters by stack and part, in the order of `PARTS`: stack, part, parameters."""
    counts: dict[tuple[str, str], int] = {}
    for name, parameter in module.named_parameters():
        key = parameter_part(name)
        counts[key] = counts.get(key, 0) + parameter.numel()
    stacks = list(dict.fromkeys(stack for stack, _part in counts))
    rows = [
        {"stack": stack, "part": part, "parameters": counts[stack, part]}
        for stack in stacks
        for part in PARTS
        if (stack, part) in counts
    ]
    return pd.DataFrame(rows)


def parameter_part(name: str) -> tuple[str, str]:
    """The stack and the part that a parameter belongs to, by its name."""
    stack, _, rest = name.partition(".")
    if stack == "unembed":
        return "decoder", "unembedding"
    for begin, part in {"embed.token": "embedding", "embed.position": "positions"}.items():
        if rest.startswith(begin):
            return stack, part
    if rest.startswith("embed.segment"):
        return stack, "segments"
    for inside, part in {
        ".self_attn.": "self-attention",
        ".cross_attn.": "cross-attention",
        ".mlp.": "feed-forward",
    }.items():
        if inside in name:
            return stack, part
    return stack, "norms"


def work_terms(config: ModelConfig) -> dict[tuple[str, str], tuple[Term, ...]]:
    """The multiply-adds of one forward by (stack, part), as formulas.

    Counted are products of matrices; looking up embeddings, norms, softmax and additions are left
    out (under one percent). Masked cells are computed like all others, so they count.
    """
    found: dict[tuple[str, str], tuple[Term, ...]] = {}
    both = config.kind == "encoder-decoder"
    for stack in config.stacks:
        n = "length" if not both else "source" if stack == "encoder" else "target"
        found[stack, "projections"] = _projections(config, n, n)
        found[stack, "scores and mix"] = (Term(2, ("n_layers", n, n, "n_heads", "d_head")),)
        if both and stack == "decoder":
            cross = ("n_layers", "target", "source", "n_heads", "d_head")
            found[stack, "cross projections"] = _projections(config, "target", "source")
            found[stack, "cross scores and mix"] = (Term(2, cross),)
        matrices = 3 if config.activation == "silu_gated" else 2
        found[stack, "feed-forward"] = (Term(matrices, ("n_layers", n, "d_model", "d_ff")),)
        if config.unembed and stack == config.stacks[-1]:
            found[stack, "unembedding"] = (Term(1, (n, "d_model", "d_vocab")),)
    return found


def work_table(config: ModelConfig, n_source: int, n_target: int | None = None) -> pd.DataFrame:
    """The same with numbers: stack, part, multiply-adds, formula."""
    numbers = sizes(config, n_source, n_target)
    rows = [
        {
            "stack": stack,
            "part": part,
            "multiply-adds": sum(term.value(numbers) for term in terms),
            "formula": " + ".join(map(str, terms)),
        }
        for (stack, part), terms in work_terms(config).items()
    ]
    return pd.DataFrame(rows)


def growth(config: ModelConfig, lengths: Sequence[int]) -> pd.DataFrame:
    """Multiply-adds by part for texts of different lengths: index length, a column a part.

    For an encoder-decoder, source and target are equally long, and both stacks are summed.
    """
    both = config.kind == "encoder-decoder"
    rows = []
    for n in lengths:
        table = work_table(config, n, n if both else None)
        rows.append(table.groupby("part", sort=False)["multiply-adds"].sum())
    found = pd.DataFrame(rows, index=pd.Index(lengths, name="length"))
    return found[[part for part in WORK if part in found]]


def crossover(config: ModelConfig) -> int:
    """The length from which a self-attention's scores cost more than its projections.

    2 · n² · h · d_head > n · 2 · d_model · (h + g) · d_head, so n > d_model · (h + g) / h.
    """
    return config.d_model * (config.n_heads + config.n_kv_heads) // config.n_heads + 1


def _projections(config: ModelConfig, query: str, key: str) -> tuple[Term, ...]:
    """W_Q and W_O for each query, W_K and W_V for each key."""
    if config.n_heads == config.n_kv_heads and query == key:
        return (Term(4, ("n_layers", query, "d_model", "n_heads", "d_head")),)
    return (
        Term(2, ("n_layers", query, "d_model", "n_heads", "d_head")),
        Term(2, ("n_layers", key, "d_model", "n_kv_heads", "d_head")),
    )
