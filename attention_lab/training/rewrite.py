"""Other spellings of a sentence that mean the same, so that the model does not hang on one."""

import random
import re
from collections.abc import Callable

from attention_lab.training.corpus import Pair

CONTRACTIONS = {
    "can't": "cannot", "won't": "will not", "don't": "do not", "doesn't": "does not",
    "didn't": "did not", "isn't": "is not", "aren't": "are not", "wasn't": "was not",
    "weren't": "were not", "haven't": "have not", "hasn't": "has not", "couldn't": "could not",
    "I'm": "I am", "I've": "I have", "I'll": "I will", "You're": "You are", "you're": "you are",
    "We're": "We are", "we're": "we are", "They're": "They are", "they're": "they are",
}  # fmt: skip
LONG = {long: short for short, long in CONTRACTIONS.items()}
SHORT_PATTERN = re.compile(r"\b(?:" + "|".join(CONTRACTIONS) + r")\b")
# At the end of a sentence the long form stays: "Yes, I am." has no short one.
LONG_PATTERN = re.compile(r"\b(?:" + "|".join(LONG) + r")\b(?= \w)")


def lengthen(pair: Pair) -> Pair:
    """ "don't" → "do not"; not in questions, where the words change places."""
    if pair.english.endswith("?"):
        return pair
    return Pair(SHORT_PATTERN.sub(lambda m: CONTRACTIONS[m[0]], pair.english), pair.chinese)


def shorten(pair: Pair) -> Pair:
    """ "do not" → "don't"."""
    return Pair(LONG_PATTERN.sub(lambda m: LONG[m[0]], pair.english), pair.chinese)


def without_stop(pair: Pair) -> Pair:
    """No full stop, on both sides."""
    return Pair(pair.english.removesuffix("."), pair.chinese.removesuffix("。"))


def lower_first(pair: Pair) -> Pair:
    """A small letter at the start, as people type."""
    first = pair.english.split(maxsplit=1)[0]
    if first.startswith("I") or first in ("Tom", "Mary", "John"):
        return pair
    return Pair(pair.english[0].lower() + pair.english[1:], pair.chinese)


def join(first: Pair, second: Pair) -> Pair:
    """Two sentences as one text: the corpus has few long ones, and users type them."""
    return Pair(f"{first.english} {second.english}", first.chinese + second.chinese)


REWRITES: tuple[Callable[[Pair], Pair], ...] = (lengthen, shorten, without_stop, lower_first)


def rewrite(pair: Pair, share: float, rng: random.Random) -> Pair:
    """The pair, or with probability `share` the same in another spelling."""
    return rng.choice(REWRITES)(pair) if rng.random() < share else pair
