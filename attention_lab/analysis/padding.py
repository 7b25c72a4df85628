"""What padding does: several texts in one batch, with and without its mask, against each alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from attention_lab.model import masks
from attention_lab.tracing.batch import Batch, trace_batch
from attention_lab.tracing.record import trace
from attention_lab.zoo.loaded import Model


@dataclass(frozen=True, eq=False)
class PaddedText:
    """One text of the batch, and how far its output in it is from that alone."""

    labels: tuple[str, ...]  # padding is "·"
    n_real: int
    left_out: int
    off_masked: float  # relative to the output's largest number
    off_unmasked: float
    on_padding: float  # the share of attention that padding gets without the mask, in all heads


@dataclass(frozen=True, eq=False)
class PaddingStudy:
    """The masks of a batch with their real sizes."""

    texts: tuple[PaddedText, ...]
    n_heads: int
    on_left: bool
    padding: Bool[np.ndarray, "batch 1 1 length"]
    own: Bool[np.ndarray, "length length"]

    @property
    def both(self) -> Bool[np.ndarray, "batch head length length"]:
        """What the two broadcast to: open where both are."""
        one = self.padding & self.own
        wide: np.ndarray = np.broadcast_to(one, (len(one), self.n_heads, *one.shape[2:]))
        return wide


def padding_study(model: Model, texts: Sequence[str], limit: int | None = None) -> PaddingStudy:
    """Run the texts as a batch twice, and each of them alone, under the model's own mask."""
    is_causal = model.config.kind == "decoder"
    masked = trace_batch(model, texts, limit=limit)
    unmasked = trace_batch(model, texts, "causal" if is_causal else "none", limit=limit)
    length = masked.ids.shape[1]
    own = (masks.causal if is_causal else masks.none)(length, length)
    rows = tuple(_row(model, masked, unmasked, row, limit) for row in range(len(texts)))
    on_left = bool((~masked.real[:, 0]).any())
    return PaddingStudy(rows, model.config.n_heads, on_left, masked.padding_mask, own.numpy())


def _row(model: Model, masked: Batch, unmasked: Batch, row: int, limit: int | None) -> PaddedText:
    tokens, real = masked.tokens[row], masked.real[row]
    alone = trace(model, tokens.text, limit=limit)
    output = alone.hidden if alone.encoded is None else alone.encoded
    shares = [unmasked.weights(s)[row][:, real][:, :, ~real].sum(-1) for s in unmasked.captured]
    return PaddedText(
        tuple(masked.labels(row)),
        len(tokens),
        tokens.left_out,
        _off(masked.output(row), output),
        _off(unmasked.output(row), output),
        float(np.mean(shares)),
    )


def _off(
    found: Float[np.ndarray, "position d_model"], right: Float[np.ndarray, "position d_model"]
) -> float:
    return float(np.abs(found - right).max() / np.abs(right).max())
