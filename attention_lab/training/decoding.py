"""Many sentences at once: greedy and beam search over padded batches, for measuring quality.

It does what `generation.greedy` and `beam.beam_search` do for one sentence, without keeping why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from attention_lab.beam import PENALTY, score
from attention_lab.model.cache import KeyValueCache
from attention_lab.model.transformer import Transformer
from attention_lab.training.batches import BOS_ID, EOS_ID, PAD_ID, pad
from attention_lab.zoo.loaded import Model

N_ROWS = 64  # sentences a batch


@dataclass
class _Search:
    """One sentence: live hypotheses (ids, total log-probability), and the ended ones by score."""

    width: int
    penalty: float
    live: list[tuple[tuple[int, ...], float]] = field(default_factory=lambda: [((), 0.0)])
    ended: list[tuple[float, tuple[int, ...]]] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether nothing that lives can still win, as `beam_search` decides it."""
        if not self.live:
            return True
        best_live = max(score(total, len(ids), self.penalty) for ids, total in self.live if ids)
        return len(self.ended) >= self.width and max(self.ended)[0] >= best_live

    def grow(self, log_probabilities: Float[Tensor, "live d_vocab"]) -> list[tuple[int, int]]:
        """Take the best extensions; returns for each live hypothesis (its row before, its id)."""
        totals = torch.tensor([total for _ids, total in self.live])
        best = (totals[:, None] + log_probabilities).flatten().topk(2 * self.width)
        live: list[tuple[tuple[int, ...], float]] = []
        origins: list[tuple[int, int]] = []
        places = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        for rank, (place, total) in enumerate(places):
            row, id = divmod(place, log_probabilities.shape[1])
            ids = (*self.live[row][0], id)
            if id == EOS_ID:
                if rank < self.width:
                    self.ended.append((score(total, len(ids), self.penalty), ids[:-1]))
            elif len(live) < self.width:
                live.append((ids, total))
                origins.append((row, id))
        self.live = live
        return origins

    @property
    def best(self) -> tuple[int, ...]:
        """The winner; one that never ended only where none did."""
        if self.ended:
            return max(self.ended)[1]
        return max((score(total, len(ids), self.penalty), ids) for ids, total in self.live)[1]


def translate_all(
    model: Model, sentences: Sequence[str], width: int = 1, penalty: float = PENALTY, most: int = 80
) -> list[str]:
    """The translation of each sentence, by beam search of the given width; 1 is greedy."""
    assert model.target_tokenizer is not None
    encodings = model.tokenizer.encode_batch(list(sentences))
    order = sorted(range(len(sentences)), key=lambda i: len(encodings[i]))
    found = [""] * len(sentences)
    for first in range(0, len(order), N_ROWS):
        chunk = order[first : first + N_ROWS]
        sources = [encodings[i].ids for i in chunk]
        for i, ids in zip(chunk, _search(model.module, sources, width, penalty, most), strict=True):
            found[i] = model.target_tokenizer.decode(list(ids), skip_special_tokens=False)
    return found


@torch.inference_mode()
def _search(
    module: Transformer, sources: Sequence[Sequence[int]], width: int, penalty: float, most: int
) -> list[tuple[int, ...]]:
    source = pad(sources)
    real = (source != PAD_ID)[:, None, None, :]
    encoded = module.encode(source, mask=real)
    searches = [_Search(width, penalty) for _source in sources]
    running = list(range(len(sources)))  # the search that each group of rows belongs to
    sizes = [1] * len(sources)
    cache, ids = KeyValueCache(), torch.full((len(sources), 1), BOS_ID)
    for _step in range(most):
        hidden = module.decode(ids, encoded, cross_mask=real, cache=cache)
        logits = module.to_logits(hidden[:, -1])
        assert logits is not None
        rows: list[int] = []
        chosen: list[int] = []
        still: list[int] = []
        new_sizes: list[int] = []
        first = 0
        for group, own in zip(running, torch.split(logits.log_softmax(dim=-1), sizes), strict=True):
            origins = searches[group].grow(own)
            if not searches[group].is_over:
                rows += [first + row for row, _id in origins]
                chosen += [id for _row, id in origins]
                still.append(group)
                new_sizes.append(len(origins))
            first += len(own)
        if not still:
            break
        running, sizes = still, new_sizes
        index = torch.tensor(rows)
        cache.select(index)
        encoded, real = encoded[index], real[index]
        ids = torch.tensor(chosen)[:, None]
    return [search.best for search in searches]
