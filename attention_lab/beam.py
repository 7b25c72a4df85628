"""Beam search, with the tree of everything it looked at."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from attention_lab.errors import InputError
from attention_lab.generation import Decoding, Generation, LogProbabilities, Step, finish, top
from attention_lab.i18n import _
from attention_lab.tracing.gate import gate
from attention_lab.zoo.loaded import Model

# Stronger than the usual 0.6 to 1: with less the translator leaves out ends of sentences. Chosen on
# the sentences set aside for its held-out loss, not on those its quality is measured on.
PENALTY = 2.0


@dataclass(frozen=True)
class Node:
    """One hypothesis: its last token, and the node it extends (None: the start)."""

    parent: int | None  # its index in `Beam.nodes`
    id: int
    step: int  # from 0
    log_probability: float  # of its last token
    total: float  # of all its tokens
    kept: bool  # it ended among the best, or was extended
    ended: bool


@dataclass(frozen=True)
class Beam:
    """The outcome of a beam search: the winner, its path, its score and all nodes."""

    best: Generation
    path: tuple[int, ...]  # the winner's nodes, from the first token on
    score: float
    nodes: tuple[Node, ...]


def score(total: float, length: int, penalty: float) -> float:
    """log P / ((5 + length) / 6)^penalty (Wu et al. 2016, equation 14); the end token counts."""
    return float(total / ((5 + length) / 6) ** penalty)


def beam_search(
    model: Model,
    text: str,
    width: int = 4,
    max_new_tokens: int = 128,
    penalty: float = PENALTY,
    n_candidates: int = 10,
) -> Beam:
    """Keep the `width` best hypotheses at each step; the best finished one by `score` wins.

    The search ends when `width` hypotheses have ended and none that lives scores better. With width
    1 it is `greedy`. Raises `InputError` for an impossible width or length, `LimitError` for an
    empty or too long text.
    """
    if not 1 <= width <= 32 or max_new_tokens < 1:
        raise InputError(_("A beam is 1 to 32 wide and writes at least 1 token."))
    tree = _Tree(model.card.eos_id, width, penalty)
    live: list[int] = []  # the nodes that are extended; at first only the start, which is none
    with gate() as turn:
        decoding = Decoding(model, text)
        log_probabilities = decoding.next
        for step in range(min(max_new_tokens, decoding.room)):
            rows = {node: row for row, node in enumerate([*live] or [None])}
            live = tree.grow(live, log_probabilities, step, n_candidates)
            if not live or tree.is_decided(live):
                break
            turn.give_way()
            decoding.select([rows[tree.nodes[i].parent] for i in live])
            log_probabilities = decoding.read(torch.tensor([[tree.nodes[i].id] for i in live]))
    winner = max(tree.ended or live, key=tree.score)
    path = tree.path(winner)
    best = finish(model, [tree.steps[i] for i in path])
    return Beam(best, path, tree.score(winner), tuple(tree.nodes))


@dataclass
class _Tree:
    """All hypotheses of one search."""

    eos_id: int | None
    width: int
    penalty: float
    nodes: list[Node] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)  # of each node, what it was chosen from
    ended: list[int] = field(default_factory=list)

    def grow(
        self, live: Sequence[int], log_probabilities: LogProbabilities, step: int, n: int
    ) -> list[int]:
        """Add the best 2 · width extensions of the live nodes; return those that live on."""
        parents: list[int | None] = [*live] or [None]
        totals = torch.tensor([0.0 if i is None else self.nodes[i].total for i in parents])
        extended = (totals[:, None] + log_probabilities).flatten()
        best, places = extended.topk(min(2 * self.width, extended.shape[0]))
        lives: list[int] = []
        for rank, (total, place) in enumerate(zip(best.tolist(), places.tolist(), strict=True)):
            row, id = divmod(place, log_probabilities.shape[1])
            ended = id == self.eos_id
            kept = rank < self.width if ended else len(lives) < self.width
            if kept:
                (self.ended if ended else lives).append(len(self.nodes))
            own = float(log_probabilities[row, id])
            self.nodes.append(Node(parents[row], id, step, own, total, kept, ended))
            self.steps.append(Step(id, own, top(log_probabilities[row], n)))
        return lives

    def score(self, node: int) -> float:
        """The score of a hypothesis, by which ended ones are compared."""
        return score(self.nodes[node].total, self.nodes[node].step + 1, self.penalty)

    def is_decided(self, live: Sequence[int]) -> bool:
        """Whether enough hypotheses have ended and none that lives scores better."""
        if len(self.ended) < self.width:
            return False
        return max(map(self.score, self.ended)) >= max(map(self.score, live))

    def path(self, last: int) -> tuple[int, ...]:
        """The nodes from the first token to `last`."""
        path: list[int] = []
        place: int | None = last
        while place is not None:
            path.append(place)
            place = self.nodes[place].parent
        return tuple(reversed(path))
