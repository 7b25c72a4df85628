"""What an encoder and a decoder do to the same input, side by side, by running both."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attention_lab.analysis.heads import bits, part_sites
from attention_lab.tokens import Tokens
from attention_lab.tracing.record import trace_ids
from attention_lab.tracing.trace import Trace
from attention_lab.zoo.loaded import Model


@dataclass(frozen=True)
class Side:
    """One of the two.

    `moved` is the largest change of the first token's output when the last word is replaced by
    another: 0 where nothing flows back from later tokens.
    """

    stack: str  # "encoder" or "decoder"
    is_own: bool  # False: the model's parameters under the other kind's mask
    n_tokens: int
    open_cells: int  # of n_tokens²
    first_sees: int
    last_sees: int
    entropy: float  # bits, the mean over rows of all heads of the self-attentions
    moved: float
    cross_keys: int  # keys of its cross-attention; 0: it has none
    output: tuple[int, ...]


def side_by_side(trace: Trace) -> tuple[Side, Side]:
    """Encoder and decoder on the tokens of `trace`, which was run without changes.

    An encoder-decoder has both. Of other models the one that there is, and the same parameters
    under the mask of the other kind, for which they were not trained.
    """
    model = trace.model
    if model.config.kind == "encoder-decoder":
        tokens, target = trace.tokens, trace.target_tokens
        assert target is not None
        written = _without_start(model, target.ids)
        other = _without_start(model, replaced(target)) if written else []
        encoder = trace_ids(model, replaced(tokens), written)
        decoder = trace_ids(model, tokens.ids, other)
        return (
            _side(trace, encoder, "encoder", True),
            _side(trace, decoder, "decoder", True),
        )
    own = _under(trace, model.config.kind, None)
    if model.config.kind == "encoder":
        return own, _under(trace, "decoder", "causal")
    return _under(trace, "encoder", "none"), own


def replaced(tokens: Tokens) -> list[int]:
    """The ids with the last token that is not special replaced by another of the text."""
    ids = list(tokens.ids)
    ordinary = [i for i, token in enumerate(tokens) if not token.special] or [len(ids) - 1]
    last = ordinary[-1]
    others = [ids[i] for i in ordinary if ids[i] != ids[last]]
    ids[last] = others[0] if others else ids[last] - 1 if ids[last] else 1
    return ids


def _under(trace: Trace, stack: str, mask: str | None) -> Side:
    """The model on the same tokens under a mask; None is its own, which `trace` has."""
    model, ids = trace.model, trace.tokens.ids
    read = trace if mask is None else trace_ids(model, ids, mask=mask)
    changed = trace_ids(model, replaced(trace.tokens), mask=mask)
    return _side(read, changed, stack, mask is None)


def _side(read: Trace, changed: Trace, stack: str, is_own: bool) -> Side:
    own_stack = stack if is_own else read.model.config.stacks[0]
    sites = [read[name] for name in part_sites(read, f"{own_stack}.self")]
    is_open = np.broadcast_to(sites[0].mask, (sites[0].n_heads, *sites[0].mask.shape[1:]))[0]
    before, after = _output(read, own_stack), _output(changed, own_stack)
    cross = f"{own_stack}.0.cross"
    return Side(
        stack=stack,
        is_own=is_own,
        n_tokens=len(is_open),
        open_cells=int(is_open.sum()),
        first_sees=int(is_open[0].sum()),
        last_sees=int(is_open[-1].sum()),
        entropy=float(np.mean([bits(site.weights) for site in sites])),
        moved=float(np.abs(before[0] - after[0]).max()),
        cross_keys=len(read[cross].key_tokens) if cross in read.sites else 0,
        output=before.shape,
    )


def _output(read: Trace, stack: str) -> np.ndarray:
    """The last hidden state of a stack."""
    if stack == "encoder" and read.encoded is not None:
        return read.encoded
    return read.hidden


def _without_start(model: Model, ids: Sequence[int]) -> list[int]:
    """A target's ids as `trace_ids` takes them."""
    return list(ids)[0 if model.card.bos_id is None else 1 :]
