"""The parallel corpus: three columns (English, Chinese, attribution) in, clean pairs out."""

import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from opencc import OpenCC

from attention_lab.errors import InputError
from attention_lab.i18n import _

HAN = "\u3400-\u9fff\U00020000-\U0003ffff"
MARKS = "，。？！：；、“”（）《》％"
HALF_TO_FULL = str.maketrans(",?!:;()%＂「」『』﹐", '，？！：；（）％"“”“”，')
# The corpus writes these both ways; one form each, so that the model need not toss a coin.
VARIANTS = {
    "Tom": "汤姆",
    "tom": "汤姆",
    "Mary": "玛丽",
    "John": "约翰",
    "妳": "你",
    "\u200b": "",
    "•": "·",
}
LONGEST = 40  # English words; Chinese characters twice that
OLD_ZHE = re.compile(
    "(?<![显名原土卓编论专译遗])著(?![名作者述录称])"
)  # the particle 着, as Taiwan writes it
SAME_QUOTES = str.maketrans("’‘`´“”„«»", '\'\'\'\'"""""')

_to_simplified = OpenCC("t2s")


@dataclass(frozen=True, order=True)
class Pair:
    """One English sentence and one Chinese translation of it."""

    english: str
    chinese: str


@dataclass(frozen=True)
class Split:
    """Pairs to train on, and pairs (of other English sentences) to measure the loss on."""

    train: tuple[Pair, ...]
    valid: tuple[Pair, ...]


def simplify(chinese: str) -> str:
    """Traditional characters as simplified ones; the rest stays."""
    return str(_to_simplified.convert(unicodedata.normalize("NFC", chinese)))


def clean_english(text: str) -> str:
    """One kind of quotes, single spaces; case and punctuation stay."""
    text = unicodedata.normalize("NFC", text).translate(SAME_QUOTES)
    return " ".join(text.split())


def clean_chinese(text: str, english: str = "") -> str:
    """Simplified characters, full-width punctuation, no spaces but between Latin words.

    Where the English side ends in a full stop and this one in no mark at all, it gets one.
    """
    text = simplify(text).strip()
    text = OLD_ZHE.sub("着", text)
    for variant, form in VARIANTS.items():
        text = text.replace(variant, form)
    text = re.sub(rf"(?<=[{HAN}\w])\.+$", "。", text.translate(HALF_TO_FULL))
    text = re.sub(rf"(?<=[{HAN}])\.(?=[{HAN}])", "。", text)
    text = re.sub(r'"([^"]*)"', r"“\1”", text)
    text = re.sub(rf"\s+(?=[{HAN}{MARKS}])|(?<=[{HAN}{MARKS}])\s+", "", text)
    if english.endswith(".") and re.search(rf"[{HAN}\w]$", text):
        text += "。"
    return text


def key(english: str) -> str:
    """What two spellings of one English sentence have in common: lower-case words and numbers.

    >>> key("“Don’t  run!” "), key("don't run")
    ('dont run', 'dont run')
    """
    text = unicodedata.normalize("NFKC", english).translate(SAME_QUOTES).casefold()
    return " ".join(re.sub(r"[^\w\s]|_", " ", text.replace("'", "")).split())


def read_rows(path: Path) -> list[tuple[str, str]]:
    """The first two columns as they stand. Raises `InputError` where it is no such table."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        message = _("The corpus {path} cannot be read ({error}); give a UTF-8 text file.")
        raise InputError(message.format(path=path, error=error)) from error
    rows: list[tuple[str, str]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) < 2 or not columns[0].strip() or not columns[1].strip():
            message = _(
                "Line {n} of {path} is not a pair; each line needs English, a tab and Chinese."
            )
            raise InputError(message.format(n=number, path=path))
        rows.append((columns[0], columns[1]))
    return rows


def clean(rows: Iterable[tuple[str, str]]) -> list[Pair]:
    """Clean pairs without duplicates, in the order of the file.

    Left out are whole paragraphs: they are few, and every batch they stand in is mostly padding.
    """
    pairs: dict[Pair, None] = {}
    for english, chinese in rows:
        source = clean_english(english)
        target = clean_chinese(chinese, source)
        if len(source.split()) <= LONGEST and len(target) <= 2 * LONGEST:
            pairs[Pair(source, target)] = None
    return list(pairs)


def read_heldout(path: Path) -> list[str]:
    """The sentences of a held-out list, one a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        message = _("The held-out list {path} cannot be read ({error}); give a UTF-8 text file.")
        raise InputError(message.format(path=path, error=error)) from error
    return [line.strip() for line in lines if line.strip()]


def without(pairs: Iterable[Pair], heldout: Collection[str]) -> list[Pair]:
    """The pairs whose English side is none of `heldout`, however it is spelt."""
    keys = {key(sentence) for sentence in heldout}
    return [pair for pair in pairs if key(pair.english) not in keys]


def references(
    rows: Iterable[tuple[str, str]], sentences: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """For each sentence all its Chinese versions in the corpus, simplified but otherwise untouched.

    Raises `InputError` for a sentence that the corpus does not have.
    """
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for english, chinese in rows:
        found[key(english)][simplify(chinese).strip()] = None
    missing = [sentence for sentence in sentences if key(sentence) not in found]
    if missing:
        message = _('The corpus has no translation of "{sentence}" ({n} are missing in all).')
        raise InputError(message.format(sentence=missing[0], n=len(missing)))
    return tuple(tuple(found[key(sentence)]) for sentence in sentences)


def split(pairs: Sequence[Pair], n_valid: int, seed: int) -> Split:
    """Put all pairs of about `n_valid` English sentences, drawn by `seed`, aside for the loss.

    Raises `InputError` where there are fewer than two sentences.
    """
    keys = sorted({key(pair.english) for pair in pairs})
    if len(keys) < 2:
        message = _("The corpus has {n} sentences that are not held out; give at least 2.")
        raise InputError(message.format(n=len(keys)))
    n_valid = min(n_valid, max(1, len(keys) // 10))
    aside = set(random.Random(seed).sample(keys, n_valid))
    return Split(
        train=tuple(pair for pair in pairs if key(pair.english) not in aside),
        valid=tuple(pair for pair in pairs if key(pair.english) in aside),
    )
