"""What one attention site did in one run: every stage, stored or derived from q, k and mask."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from torch import Tensor

from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.model import attention
from attention_lab.tokens import Tokens

Stage = Literal["q", "k", "v", "scores", "mask", "masked_scores", "weights", "z", "result"]
STAGES: tuple[Stage, ...] = get_args(Stage)
# Stages with one row a query and one column a key; the others have one row a position.
PAIR_STAGES: tuple[Stage, ...] = ("scores", "mask", "masked_scores", "weights")


def read_only(tensor: Tensor) -> np.ndarray:
    """The tensor's own memory as a numpy array that cannot be written to."""
    array: np.ndarray = tensor.numpy()
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class Site:
    """One attention site of a trace, e.g. "encoder.3.self". All arrays are read-only.

    `stored` holds q, k, v, mask, z, attn_out and, unless the trace is too large, weights. The rest
    is computed on demand by the functions that the model itself uses, from the same tensors.
    """

    name: str
    query_tokens: Tokens
    key_tokens: Tokens
    n_heads: int
    stored: Mapping[str, Tensor]
    w_o: Tensor  # d_model × (head · d_head)
    bias: Callable[[], Tensor | None]  # position bias of the scores (ALiBi)

    @property
    def q(self) -> np.ndarray:
        """Queries, (head, query, d_head)."""
        return read_only(self.stored["q"])

    @property
    def k(self) -> np.ndarray:
        """Keys, (head, key, d_head); heads of one group share theirs."""
        return read_only(attention.share_heads(self.stored["k"], self.n_heads))

    @property
    def v(self) -> np.ndarray:
        """Values, (head, key, d_head); heads of one group share theirs."""
        return read_only(attention.share_heads(self.stored["v"], self.n_heads))

    @property
    def scores(self) -> np.ndarray:
        """q·kᵀ / √d_head plus any position bias, before the mask, (head, query, key)."""
        return read_only(self._scores())

    @property
    def mask(self) -> np.ndarray:
        """True = may attend, (1 or head, query, key)."""
        return read_only(self.stored["mask"])

    @property
    def masked_scores(self) -> np.ndarray:
        """`scores` with -inf where the mask is False, (head, query, key)."""
        return read_only(self._masked_scores())

    @property
    def weights(self) -> np.ndarray:
        """The attention weights: softmax over keys, (head, query, key)."""
        return read_only(self._weights())

    @property
    def z(self) -> np.ndarray:
        """weights · v, (head, query, d_head)."""
        return read_only(self.stored["z"])

    @property
    def result(self) -> np.ndarray:
        """Each head's own contribution to `attn_out`, after W_O, (head, query, d_model)."""
        return read_only(attention.head_results(self.stored["z"], self.w_o))

    @property
    def attn_out(self) -> np.ndarray:
        """What the site adds to the residual stream, (query, d_model)."""
        return read_only(self.stored["attn_out"])

    def stage(self, name: str) -> np.ndarray:
        """A stage by its name. Raises `InputError` for a name that is none."""
        if name not in STAGES:
            message = _('There is no stage "{name}"; there are {stages}.')
            raise InputError(message.format(name=name, stages=", ".join(STAGES)))
        array: np.ndarray = getattr(self, name)
        return array

    def _scores(self) -> Tensor:
        if "scores" in self.stored:
            return self.stored["scores"]
        return attention.scaled_scores(self.stored["q"], self.stored["k"], self.bias())

    def _masked_scores(self) -> Tensor:
        if "masked_scores" in self.stored:
            return self.stored["masked_scores"]
        return attention.apply_mask(self._scores(), self.stored["mask"])

    def _weights(self) -> Tensor:
        if "weights" in self.stored:
            return self.stored["weights"]
        return attention.softmax_rows(self._masked_scores())
