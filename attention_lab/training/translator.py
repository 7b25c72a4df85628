"""The translator's data: corpus and phrasebook, held-out sentences left out, as batches of ids."""

import hashlib
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from attention_lab.training import corpus, phrasebook
from attention_lab.training.batches import Batch, Ids, make_batches
from attention_lab.training.corpus import Pair
from attention_lab.training.loop import Epoch
from attention_lab.training.recipe import Recipe
from attention_lab.training.rewrite import join, rewrite
from attention_lab.training.vocabulary import SubwordDropout, train_chinese, train_english

N_VALID = 400  # English sentences of the corpus set aside for the loss


@dataclass(frozen=True)
class Data:
    """What a run trains on and measures its loss on, and the two vocabularies."""

    train: tuple[Pair, ...]
    valid: tuple[Pair, ...]
    heldout: frozenset[str]  # keys of English sentences that must never be trained on
    english: Tokenizer
    chinese: Tokenizer

    @property
    def fingerprint(self) -> str:
        """Tells whether a run that goes on still has the pairs it began with."""
        rows = "\n".join(f"{pair.english}\t{pair.chinese}" for pair in self.train)
        return hashlib.sha256(rows.encode()).hexdigest()


def prepare(
    path: Path,
    heldout: Collection[str],
    recipe: Recipe,
    tokenizers: tuple[Tokenizer, Tokenizer] | None = None,
) -> Data:
    """Read, clean and split the corpus, add the phrasebook, learn the vocabularies.

    `heldout` and the phrasebook's own held-out sentences are left out of everything, the
    vocabularies included. A run that goes on brings its English and Chinese tokenizers.
    """
    closed = [*heldout, *phrasebook.heldout()]
    pairs = corpus.without(corpus.clean(corpus.read_rows(path)), closed)
    parts = corpus.split(pairs, N_VALID, recipe.seed)
    phrases = corpus.without(phrasebook.pairs(), closed)
    aside = {corpus.key(pair.english) for pair in parts.valid}
    keys = frozenset(corpus.key(sentence) for sentence in closed) | aside
    train = (*parts.train, *(pair for pair in phrases if corpus.key(pair.english) not in aside))
    english, chinese = tokenizers or (
        train_english([pair.english for pair in train], recipe.english_vocabulary),
        train_chinese([pair.chinese for pair in train], recipe.chinese_vocabulary),
    )
    return Data(train, parts.valid, keys, english, chinese)


def encode(data: Data, pairs: Sequence[Pair]) -> list[Ids]:
    """The ids of pairs as they stand, without special tokens."""
    english = data.english.encode_batch([p.english for p in pairs], add_special_tokens=False)
    chinese = data.chinese.encode_batch([p.chinese for p in pairs], add_special_tokens=False)
    return [(source.ids, target.ids) for source, target in zip(english, chinese, strict=True)]


def valid_batches(data: Data, recipe: Recipe) -> list[Batch]:
    """The batches on which the loss is measured."""
    return make_batches(encode(data, data.valid), recipe.batch_tokens, random.Random(0))


def epoch_batches(data: Data, recipe: Recipe) -> Epoch:
    """A function from an epoch's number to its batches: spellings, cuts and order drawn anew."""
    english = SubwordDropout(data.english, recipe.subword_dropout)
    chinese = SubwordDropout(data.chinese, recipe.subword_dropout)

    def batches(epoch: int) -> list[Batch]:
        rng = random.Random(f"{recipe.seed} {epoch}")
        ids: list[Ids] = []
        for original in data.train:
            pair = rewrite(original, recipe.rewrite, rng)
            if epoch >= recipe.plain_epochs and rng.random() < recipe.join:
                pair = join(pair, rng.choice(data.train))
            if corpus.key(pair.english) in data.heldout:
                pair = original
            ids.append((english.encode(pair.english, rng), chinese.encode(pair.chinese, rng)))
        return make_batches(ids, recipe.batch_tokens, rng)

    return batches
