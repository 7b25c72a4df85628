"""How good the translator is: BLEU and chrF, the workshop's sentences, attention as alignment."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from attention_lab.tokens import Tokens
from attention_lab.tracing.record import trace
from attention_lab.training import phrasebook
from attention_lab.training.decoding import translate_all
from attention_lab.training.phrasebook import Phrase, Span
from attention_lab.zoo.loaded import Model

PUNCTUATION = re.compile(r"[\s，。？！、,.?!]+")


@dataclass(frozen=True)
class Score:
    """sacreBLEU with Chinese characters as tokens, and chrF; both from 0 to 100."""

    bleu: float
    chrf: float


def measure(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """Corpus scores against all references of each sentence."""
    most = max(len(own) for own in references)
    # One stream a reference; a sentence with fewer repeats its first, which changes no score.
    streams = [[own[i] if i < len(own) else own[0] for own in references] for i in range(most)]
    bleu = BLEU(tokenize="zh").corpus_score(list(hypotheses), streams)
    return Score(bleu.score, CHRF().corpus_score(list(hypotheses), streams).score)


@dataclass(frozen=True)
class Judgement:
    """One of the workshop's sentences, what came out, and whether it is on the list."""

    english: str
    chinese: str
    right: bool


def judge_workshop(model: Model, width: int = 1) -> list[Judgement]:
    """Translate the workshop's sentences and look each up in its list; punctuation is ignored."""
    accepted = phrasebook.workshop()
    found = translate_all(model, list(accepted), width)
    return [
        Judgement(english, chinese, bare(chinese) in set(map(bare, accepted[english])))
        for english, chinese in zip(accepted, found, strict=True)
    ]


def bare(text: str) -> str:
    """The text without punctuation and spaces."""
    return PUNCTUATION.sub("", text)


@dataclass(frozen=True)
class Alignment:
    """The share of linked words that a layer's cross-attention finds, the mean over its heads."""

    by_layer: tuple[float, ...]
    n_words: int

    @property
    def layer(self) -> int:
        """The best layer."""
        return int(np.argmax(self.by_layer))

    @property
    def best(self) -> float:
        """Its share, 0 to 1."""
        return max(self.by_layer)


def align(model: Model, phrases: Sequence[Phrase]) -> Alignment:
    """For each linked Chinese word: does the step that writes it look most at the English word?

    The row that writes a token is the one before it: it reads the token before. A word of several
    tokens counts once, by its first. Weights of an English word's pieces are added up.
    """
    n_layers = model.config.n_layers
    hits, n = np.zeros(n_layers), 0
    for phrase in phrases:
        run = trace(model, phrase.pair.english, target=phrase.pair.chinese)
        assert run.target_tokens is not None
        sums = [run[f"decoder.{i}.cross"].weights.mean(axis=0) for i in range(n_layers)]
        words = word_spans(phrase.pair.english)
        columns = [_inside(run.tokens, span) for span in words]
        for english, chinese in phrase.links:
            rows = _inside(run.target_tokens, chinese)
            if not rows:
                continue
            n += 1
            for layer, weights in enumerate(sums):
                by_word = [weights[rows[0] - 1, own].sum() for own in columns]
                winner = words[int(np.argmax(by_word))]
                hits[layer] += english[0] <= winner[0] and winner[1] <= english[1]
    return Alignment(tuple((hits / max(n, 1)).tolist()), n)


def word_spans(english: str) -> list[Span]:
    """Where the words and the marks of an English sentence stand."""
    return [match.span() for match in re.finditer(r"\w+(?:'\w+)?|[^\w\s]", english)]


def _inside(tokens: Tokens, span: Span) -> list[int]:
    """The positions of the tokens that share a character with `span`."""
    return [
        i
        for i, token in enumerate(tokens)
        if token.start < span[1] and span[0] < token.end and not token.special
    ]
