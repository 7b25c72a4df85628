"""Let a model write: greedy, by sampling, or by beam search, with a key/value cache.

Every step keeps the candidates it chose from. A step can be traced: `trace` on the text with the
tokens written before it gives the same numbers, because the cache changes none.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_lab.config import Limits
from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.model.cache import KeyValueCache
from attention_lab.model.masks import MaskLike
from attention_lab.tracing.edits import Edit
from attention_lab.tracing.gate import gate
from attention_lab.tracing.record import max_tokens, read_text, trace_ids
from attention_lab.zoo.loaded import Model

LogProbabilities = Float[Tensor, "row d_vocab"]


@dataclass(frozen=True)
class Step:
    """One token: what was chosen, and the likeliest candidates with natural log-probabilities."""

    id: int
    log_probability: float
    candidates: tuple[tuple[int, float], ...]

    @property
    def rest(self) -> float:
        """The probability of all tokens that are not among the candidates."""
        return max(0.0, 1.0 - sum(math.exp(value) for _id, value in self.candidates))


@dataclass(frozen=True)
class Generation:
    """What a model wrote. `finished`: it ended by itself, and was not cut off."""

    text: str
    ids: tuple[int, ...]  # without the start and the end token
    steps: tuple[Step, ...]  # one a token, the end token included
    finished: bool

    @property
    def log_probability(self) -> float:
        """The sum over all steps."""
        return sum(step.log_probability for step in self.steps)

    def __str__(self) -> str:
        return self.text


class Decoding:
    """One text being continued, a row for each hypothesis; each token is read once."""

    def __init__(self, model: Model, text: str, rows: int = 1) -> None:
        ids = torch.tensor([read_text(model, text).ids])
        self._model, self._cache = model, KeyValueCache()
        self._encoded: Tensor | None = None
        with gate(), torch.inference_mode():
            if model.config.kind == "encoder-decoder":
                self._encoded = model.module.encode(ids).expand(rows, -1, -1)
                ids = torch.tensor([[_bos(model)]])
        self.room = max_tokens(model.config, Limits.from_environment()) - ids.shape[1]
        self.next = self.read(ids.expand(rows, -1))

    def read(self, ids: Int[Tensor, "row position"]) -> LogProbabilities:
        """Append tokens to every row; log-probabilities of what comes next."""
        with gate(), torch.inference_mode():
            hidden = self._model.module.decode(ids, self._encoded, cache=self._cache)
            logits = self._model.module.to_logits(hidden[:, -1])
        assert logits is not None
        return logits.log_softmax(dim=-1)

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows, in this order; one may stand there twice."""
        index = torch.tensor(rows)
        self._cache.select(index)
        if self._encoded is not None:
            self._encoded = self._encoded[index]


def generate(
    model: Model,
    text: str,
    max_new_tokens: int = 20,
    temperature: float = 0.8,
    top_k: int | None = 40,
    top_p: float | None = 0.95,
    seed: int | None = 0,
    n_candidates: int = 10,
) -> Generation:
    """Continue `text`, or translate it, by sampling; a temperature of 0 is `greedy`.

    `top_k` keeps the likeliest k tokens, `top_p` the fewest that together reach p (Holtzman et al.
    2020); None keeps all. The same seed gives the same text; None draws anew. Candidates are those
    of the model, before temperature and cuts. Raises `InputError` and `LimitError`.
    """
    _check(max_new_tokens >= 1, "max_new_tokens", max_new_tokens, _("a whole number from 1"))
    _check(0 <= temperature < math.inf, "temperature", temperature, _("a number from 0"))
    _check(top_k is None or top_k >= 1, "top_k", top_k, _("a whole number from 1, or None"))
    _check(top_p is None or 0 < top_p <= 1, "top_p", top_p, _("a number above 0 up to 1, or None"))
    generator = torch.Generator()
    generator.manual_seed(seed) if seed is not None else generator.seed()

    def choose(log_probabilities: Float[Tensor, " d_vocab"]) -> int:
        if temperature == 0:
            return int(log_probabilities.argmax())
        kept = _cut((log_probabilities / temperature).softmax(dim=-1), top_k, top_p)
        return int(torch.multinomial(kept, 1, generator=generator))

    return _write(model, text, max_new_tokens, choose, n_candidates)


def greedy(
    model: Model, text: str, max_new_tokens: int = 128, n_candidates: int = 10
) -> Generation:
    """Always the likeliest token. Raises `LimitError` for a text that is empty or too long."""
    return generate(model, text, max_new_tokens, temperature=0.0, n_candidates=n_candidates)


def greedy_changed(
    model: Model,
    text: str,
    mask: MaskLike | None = None,
    edits: Sequence[Edit] = (),
    max_new_tokens: int = 64,
    n_candidates: int = 10,
) -> Generation:
    """`greedy` under another mask, or with edits (see `trace`).

    Each step is a trace of all that is written so far. There is no cache: what it keeps was
    computed before later tokens were there, and such a mask may let them be seen.
    Raises `InputError` and `LimitError` as `trace` does.
    """
    read, written, steps = read_text(model, text).ids, list[int](), list[Step]()
    is_target = model.config.kind == "encoder-decoder"
    room = max_tokens(model.config, Limits.from_environment()) - (1 if is_target else len(read))
    with gate() as turn:
        while len(steps) < min(max_new_tokens, room):
            ids, target = (read, written) if is_target else ([*read, *written], None)
            logits = trace_ids(model, ids, target, mask, edits).logits_at(-1)
            if logits is None:
                raise InputError(_("This model has no output over tokens; it cannot write."))
            row = torch.tensor(logits).log_softmax(dim=-1)
            id = int(row.argmax())
            steps.append(Step(id, float(row[id]), top(row, n_candidates)))
            if id == model.card.eos_id:
                break
            written.append(id)
            turn.give_way()
    return finish(model, steps)


def _write(
    model: Model, text: str, most: int, choose: Callable[[Tensor], int], n_candidates: int
) -> Generation:
    with gate() as turn:
        decoding = Decoding(model, text)
        log_probabilities, steps = decoding.next, list[Step]()
        while len(steps) < min(most, decoding.room):
            row = log_probabilities[0]
            id = choose(row)
            steps.append(Step(id, float(row[id]), top(row, n_candidates)))
            if id == model.card.eos_id:
                break
            turn.give_way()
            log_probabilities = decoding.read(torch.tensor([[id]]))
    return finish(model, steps)


def finish(model: Model, steps: Sequence[Step]) -> Generation:
    """The outcome of these steps."""
    finished = bool(steps) and steps[-1].id == model.card.eos_id
    ids = tuple(step.id for step in steps[: len(steps) - finished])
    tokenizer = model.target_tokenizer or model.tokenizer
    return Generation(
        tokenizer.decode(list(ids), skip_special_tokens=False), ids, tuple(steps), finished
    )


def top(row: Float[Tensor, " d_vocab"], n: int) -> tuple[tuple[int, float], ...]:
    """The `n` likeliest (id, log-probability), the likeliest first."""
    best = row.topk(min(n, row.shape[0]))
    return tuple(zip(best.indices.tolist(), best.values.tolist(), strict=True))


def _cut(
    probabilities: Float[Tensor, " d_vocab"], top_k: int | None, top_p: float | None
) -> Float[Tensor, " d_vocab"]:
    """What top-k and top-p leave; the rest is 0."""
    ordered, order = probabilities.sort(descending=True)
    keep = torch.ones_like(ordered, dtype=torch.bool)
    if top_k is not None:
        keep[top_k:] = False
    if top_p is not None:
        keep &= ordered.cumsum(dim=0) - ordered < top_p  # the one that reaches p is kept
    return torch.zeros_like(probabilities).scatter(0, order, ordered * keep)


def _bos(model: Model) -> int:
    assert model.card.bos_id is not None
    return model.card.bos_id


def _check(ok: bool, name: str, value: object, allowed: str) -> None:
    if not ok:
        message = _("{name} is {value}; allowed: {allowed}.")
        raise InputError(message.format(name=name, value=value, allowed=allowed))
