"""Subword vocabularies, learnt from the corpus: byte-pair encoding with `tokenizers`.

English keeps its case and gives punctuation and the n't of "didn't" tokens of their own; Chinese
has pieces of one or two characters. What neither knows becomes a visible [UNK].
"""

import json
import random
from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing

PAD, BOS, EOS, UNK = "[PAD]", "[BOS]", "[EOS]", "[UNK]"
SPECIAL = (PAD, BOS, EOS, UNK)  # their ids are 0 to 3

# One alternative a line: did|n't, n't, 'll, a word, a digit, any other visible character.
ENGLISH_WORDS = (
    r"(?i:[\p{L}\p{M}]+(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b)"
    r"|[\p{L}\p{M}]+|\p{N}|[^\s\p{L}\p{M}\p{N}]"
)
# A run of Chinese characters, a Latin word, the space between two of them, a digit, another one.
CHINESE_RUNS = r"\p{Han}+|[A-Za-z]+|\s+|\p{N}|[^\s\p{Han}A-Za-z\p{N}]"


def train_english(sentences: Iterable[str], size: int) -> Tokenizer:
    """A vocabulary of at most `size` entries; a piece inside a word begins with ##."""
    tokenizer = Tokenizer(models.BPE(unk_token=UNK, continuing_subword_prefix="##"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace(old, new) for old, new in (("’", "'"), ("“", '"'), ("”", '"'))]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(ENGLISH_WORDS), "removed", invert=True)
    sentences = list(sentences)
    # The trainer numbers letters inside words in no fixed order, and that decides between equally
    # frequent merges; as "special" tokens, which they are only here, they have their numbers first.
    letters = sorted({letter for sentence in sentences for letter in sentence} - {" "})
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=3,
        special_tokens=[*SPECIAL, *("##" + letter for letter in letters)],
        continuing_subword_prefix="##",
        show_progress=False,
    )
    values = json.loads(_train(tokenizer, sentences, trainer, ["$A", EOS]).to_str())
    values["added_tokens"] = values["added_tokens"][: len(SPECIAL)]
    return Tokenizer.from_str(json.dumps(values))


def train_chinese(sentences: Iterable[str], size: int) -> Tokenizer:
    """A vocabulary of at most `size` entries, none longer than two characters.

    Characters that the corpus has only once are left to [UNK]: one sentence does not teach them.
    """
    sentences = list(sentences)
    counts: dict[str, int] = {}
    for sentence in sentences:
        for character in sentence:
            counts[character] = counts.get(character, 0) + 1
    tokenizer = Tokenizer(models.BPE(unk_token=UNK))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(CHINESE_RUNS), "removed", invert=True)
    tokenizer.decoder = decoders.Fuse()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=3,
        max_token_length=3,  # exclusive
        limit_alphabet=sum(count > 1 for count in counts.values()),
        special_tokens=list(SPECIAL),
        show_progress=False,
    )
    return _train(tokenizer, sentences, trainer, [BOS, "$A"])


def _train(
    tokenizer: Tokenizer, texts: Iterable[str], trainer: trainers.BpeTrainer, template: list[str]
) -> Tokenizer:
    # Sorted, so that ties between equally frequent pairs do not depend on the order of the file.
    tokenizer.train_from_iterator(sorted(texts), trainer)
    ids = [(name, SPECIAL.index(name)) for name in SPECIAL]
    tokenizer.post_processor = TemplateProcessing(single=template, special_tokens=ids)
    return tokenizer


class SubwordDropout:
    """BPE-dropout (Provilkov et al. 2020): a merge is skipped with probability `p`.

    The model so sees a word in several cuts. `tokenizers` has it too, but without a seed; here each
    word's `n_cuts` cuts are drawn once from the word itself, and an occurrence takes one of them.
    """

    def __init__(self, tokenizer: Tokenizer, p: float, n_cuts: int = 16) -> None:
        model = json.loads(tokenizer.to_str())["model"]
        self._tokenizer = tokenizer
        self._prefix: str = model["continuing_subword_prefix"] or ""
        self._vocabulary: dict[str, int] = model["vocab"]
        self._ranks = {(left, right): rank for rank, (left, right) in enumerate(model["merges"])}
        self._p, self._n_cuts = p, n_cuts
        self._cuts: dict[str, list[list[int]]] = {}

    def encode(self, text: str, rng: random.Random) -> list[int]:
        """The ids of `text` without special tokens, words cut at random."""
        tokenizer = self._tokenizer
        if tokenizer.normalizer is not None:
            text = tokenizer.normalizer.normalize_str(text)
        ids: list[int] = []
        for word, _span in tokenizer.pre_tokenizer.pre_tokenize_str(text):
            cuts = self._cuts.get(word)
            if cuts is None:
                own = random.Random(word)
                cuts = [self._cut(word, own) for _ in range(self._n_cuts if len(word) > 1 else 1)]
                self._cuts[word] = cuts
            ids += cuts[rng.randrange(len(cuts))] if len(cuts) > 1 else cuts[0]
        return ids

    def _cut(self, word: str, rng: random.Random) -> list[int]:
        prefix = self._prefix
        pieces = [word[0], *(prefix + character for character in word[1:])]
        while True:
            best: tuple[int, int] | None = None
            for place in range(len(pieces) - 1):
                rank = self._ranks.get((pieces[place], pieces[place + 1]))
                usable = rank is not None and (best is None or rank < best[0])
                if usable and rng.random() >= self._p:
                    best = (rank or 0, place)
            if best is None:
                unknown = self._vocabulary[UNK]
                return [self._vocabulary.get(piece, unknown) for piece in pieces]
            place = best[1]
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1].removeprefix(prefix)]
