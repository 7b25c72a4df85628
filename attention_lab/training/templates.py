"""The phrasebook's templates, read from `assets/phrasebook/templates.tsv` (its head says how)."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from attention_lab.training import lexicon
from attention_lab.training.lexicon import Word

FILE = Path(__file__).resolve().parents[2] / "assets" / "phrasebook" / "templates.tsv"
GROUP = re.compile(r"(?P<name>[A-Z_]+)(?::(?P<first>\d+)|\((?P<words>[^)]+)\))?")


@dataclass(frozen=True)
class Template:
    """An English and a Chinese sentence with slots, and the words that may stand in each slot."""

    english: str
    chinese: str
    slots: dict[str, list[Word]]
    n: int  # phrases to draw


@cache
def templates() -> tuple[Template, ...]:
    """All templates, in the order of the file."""
    rows = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(_template(row) for row in rows if row and not row.startswith("#"))


def _template(row: str) -> Template:
    n, english, chinese, slots = row.split("\t")
    named = dict(slot.split("=") for slot in slots.split())
    return Template(english, chinese, {slot: group(spec) for slot, spec in named.items()}, int(n))


def group(spec: str) -> list[Word]:
    """The words that a specification such as "ANIMALS:14+QUALITIES(big/small)" names.

    Raises `ValueError` where it names none.
    """
    found: list[Word] = []
    for part in spec.split("+"):
        match = GROUP.fullmatch(part)
        if match is None:
            raise ValueError(part)
        words: list[Word] = getattr(lexicon, match["name"])
        if match["first"]:
            words = words[: int(match["first"])]
        if match["words"]:
            wanted = match["words"].split("/")
            words = [word for word in words if word["en"] in wanted]
            if len(words) != len(wanted):
                raise ValueError(part)
        found += words
    return found
