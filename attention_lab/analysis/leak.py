"""The leak test: change one token, and see which outputs move. What a mask hides cannot move them.

At equal shapes a forward gives equal bits for equal rows, and a masked weight is exactly 0, so
"moved" means by one bit or more; there is no tolerance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.model.masks import MaskLike
from attention_lab.tokens import Token
from attention_lab.tracing.edits import Edit
from attention_lab.tracing.record import trace_ids
from attention_lab.tracing.trace import Trace
from attention_lab.zoo.loaded import Model


@dataclass(frozen=True, eq=False)
class Leak:
    """What moved when the token at `changed` became another one.

    `output` is the largest absolute change of a number of each position's output, `layers` the same
    after each layer.
    """

    changed: int
    output: Float[np.ndarray, " position"]
    layers: Float[np.ndarray, "layer position"]

    @property
    def moved(self) -> tuple[int, ...]:
        """The positions whose output moved, by one bit or more."""
        return tuple(int(i) for i in np.flatnonzero(self.output > 0))

    @property
    def before(self) -> tuple[int, ...]:
        """Those before the changed token: under a causal mask there is none."""
        return tuple(i for i in self.moved if i < self.changed)


def leak(
    model: Model,
    ids: Sequence[int],
    place: int,
    new_id: int,
    stack: str | None = None,
    target: Sequence[int] = (),
    mask: MaskLike | None = None,
    edits: Sequence[Edit] = (),
) -> Leak:
    """Run `model` twice, the token at `place` changed to `new_id`, under the same mask and edits.

    `ids` are those of the text with its special tokens. `stack` is the one whose token is changed
    and whose outputs are compared, the first one if not given. For the decoder of an
    encoder-decoder, `target` is what it has written, and place 0 its start token, which stays.
    Raises `InputError` where nothing would change.
    """
    stack = stack or model.config.stacks[0]
    is_target = stack == "decoder" and model.config.kind == "encoder-decoder"
    own, number = (list(target), place - 1) if is_target else (list(ids), place)
    if stack not in model.config.stacks or not 0 <= number < len(own) or own[number] == new_id:
        message = _("Place {place} cannot be changed to token {id}: give a place, and another id.")
        raise InputError(message.format(place=place, id=new_id))
    other = [*own[:number], new_id, *own[number + 1 :]]
    both = target if model.config.kind == "encoder-decoder" else None
    texts = ((ids, own), (ids, other)) if is_target else ((own, both), (other, both))
    before, after = (trace_ids(model, read, written, mask, edits) for read, written in texts)
    layers = [f"{stack}.{layer}" for layer in range(model.config.n_layers)]
    streams = [_moved(*(t.residual(layer, "post") for t in (before, after))) for layer in layers]
    return Leak(place, _moved(_output(before, stack), _output(after, stack)), np.stack(streams))


def _output(trace: Trace, stack: str) -> Float[np.ndarray, "position d_model"]:
    output = trace.encoded if stack == "encoder" else trace.hidden
    assert output is not None
    return output


def changeable(tokens: Sequence[Token]) -> int:
    """The last token that is not special: what to change where nothing else is asked for."""
    ordinary = [i for i, token in enumerate(tokens) if not token.special]
    return ordinary[-1] if ordinary else len(tokens) - 1


def another(tokens: Sequence[Token], place: int, d_vocab: int) -> int:
    """The id of another token to put there: the text's own first one that differs, if any."""
    now = tokens[place].id
    others = [token.id for token in tokens if not token.special and token.id != now]
    return others[0] if others else (now + 1) % d_vocab


def _moved(
    before: Float[np.ndarray, "position d"], after: Float[np.ndarray, "position d"]
) -> Float[np.ndarray, " position"]:
    moved: np.ndarray = np.abs(after - before).max(axis=-1)
    return moved
