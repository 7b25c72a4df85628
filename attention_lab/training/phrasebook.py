"""A bilingual template grammar: the sentences a workshop types, correct by construction.

A template is an English and a Chinese sentence with slots. `{a}` is the word in slot a, `{a.ed}`
another form of it; `{a}` on both sides is one word and its translation, so every pair knows its
word alignment. `<because>1` … `<因为>1` links words that stand in the template itself.
"""

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from attention_lab.training import corpus
from attention_lab.training.corpus import Pair
from attention_lab.training.lexicon import Word
from attention_lab.training.templates import templates

Span = tuple[int, int]

WORKSHOP = Path(__file__).resolve().parents[2] / "assets" / "examples" / "workshop-en-zh.tsv"
N_ALIGNED = 100
MARKUP = re.compile(r"\{(?P<slot>\w+)(?:\.(?P<form>\w+))?\}|<(?P<fixed>[^>]+)>(?P<link>\d)")
UNLINKED = ("a", "m", "he", "ta")  # forms that are not the word itself: articles, measure words


@dataclass(frozen=True)
class Phrase:
    """A pair and its links: (characters of the English word, characters of the Chinese one)."""

    pair: Pair
    links: tuple[tuple[Span, Span], ...]
    template: int


def _render(template: str, words: Mapping[str, Word], side: str) -> tuple[str, dict[str, Span]]:
    """The sentence, and where in it each linked word stands."""
    text, end, spans = "", 0, {}
    for match in MARKUP.finditer(template):
        text += template[end : match.start()]
        end = match.end()
        slot, form = match["slot"], match["form"] or side
        word = match["fixed"] or words[slot][form]
        start = len(text)
        text += word
        if form not in UNLINKED or form == "a":
            article = word.index(" ") + 1 if form == "a" and slot else 0
            spans[slot or match["link"]] = (start + article, len(text))
    text += template[end:]
    return text[0].upper() + text[1:], spans


def fill(template: int, words: Mapping[str, Word]) -> Phrase:
    """The phrase that template number `template` makes of the given words."""
    source, source_spans = _render(templates()[template].english, words, "en")
    target, target_spans = _render(templates()[template].chinese, words, "zh")
    links = tuple(
        (span, target_spans[name]) for name, span in source_spans.items() if name in target_spans
    )
    return Phrase(Pair(source, target), links, template)


def _draw(template: int, rng: random.Random) -> Iterator[Phrase]:
    """Phrases of one template without end; words for two slots are never the same."""
    slots = templates()[template].slots
    while True:
        words = {slot: rng.choice(choices) for slot, choices in slots.items()}
        if len({word["zh"] for word in words.values()}) == len(words):
            yield fill(template, words)


@cache
def phrases() -> tuple[Phrase, ...]:
    """All phrases, several thousand, no English sentence twice; always the same ones."""
    found: dict[str, Phrase] = {}
    for number, template in enumerate(templates()):
        stream = _draw(number, random.Random(f"phrasebook {number}"))
        wanted = template.n
        for _try, phrase in zip(range(4 * wanted), stream, strict=False):
            if wanted and corpus.key(phrase.pair.english) not in found:
                found[corpus.key(phrase.pair.english)] = phrase
                wanted -= 1
    return tuple(found.values())


@cache
def aligned() -> tuple[Phrase, ...]:
    """100 phrases with at least three links, from all over the grammar; held out of training."""
    shown = workshop()
    rich = [
        phrase
        for phrase in phrases()
        if len(phrase.links) >= 3 and corpus.key(phrase.pair.english) not in map(corpus.key, shown)
    ]
    return tuple(random.Random("aligned").sample(rich, N_ALIGNED))


@cache
def workshop() -> Mapping[str, tuple[str, ...]]:
    """What people type in a workshop, with the translations that count as right."""
    rows = WORKSHOP.read_text(encoding="utf-8").splitlines()
    found: dict[str, tuple[str, ...]] = {}
    for row in rows:
        if row and not row.startswith("#"):
            english, *patterns = row.split("\t")
            found[english] = tuple(text for pattern in patterns for text in expand(pattern))
    return found


def expand(pattern: str) -> list[str]:
    """All readings of a pattern: "[那只|]猫" is "那只猫" and "猫". Brackets do not nest."""
    parts = re.split(r"\[([^\]]*)\]", pattern)
    texts = [""]
    for index, part in enumerate(parts):
        texts = [
            text + choice for text in texts for choice in (part.split("|") if index % 2 else [part])
        ]
    return texts


def heldout() -> list[str]:
    """English sentences that tests and demos use, and that nothing is ever trained on."""
    return [*workshop(), *(phrase.pair.english for phrase in aligned())]


def pairs() -> list[Pair]:
    """The pairs to train on."""
    return corpus.without([phrase.pair for phrase in phrases()], heldout())
