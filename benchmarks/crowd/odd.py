"""Texts, links and widget values that nobody means well with; the same in every run."""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
EXPLORE, TRANSLATE = "", "translate"

# Groups of snippets, in escapes: scripts, markup of all kinds, templates, control and composed
# characters, tokens of models, paths and addresses, numbers, places of heads, whole query strings.
SNIPPETS: dict[str, list[str]] = json.loads((Path(__file__).parent / "odd.json").read_text())
LINKS = SNIPPETS.pop("links")
ALL = [snippet for group in SNIPPETS.values() for snippet in group]


@dataclass(frozen=True)
class Case:
    """One thing to try: a page opened with a link, and there perhaps a widget that is changed."""

    kind: str
    page: str  # its place below the app's address; "" is Explore
    link: str = ""
    widget: str = ""  # a key
    value: str | int | float | tuple[str, ...] | None = None


@cache
def pages() -> tuple[str, ...]:
    """Every page of the app, Explore as ""."""
    names = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
    return tuple("" if name == "explore" else name for name in names)


@cache
def keys() -> tuple[str, ...]:
    """Every key that a page reads from its link, as the source has it."""
    folders = (ROOT / "pages", ROOT / "attention_lab" / "ui")
    source = "".join(path.read_text() for folder in folders for path in sorted(folder.glob("*.py")))
    found = re.findall(r'(?:restore|restore_list|restore_text|token_picker)\(\s*"(\w+)"', source)
    return tuple(dict.fromkeys((*found, "model", "text", "no_such_key")))


def text(chance: random.Random) -> str:
    """An odd text; one of a few hundred is huge."""
    kind = chance.random()
    if kind < 0.03:
        piece = chance.choice(ALL) or "x"
        return (piece * (chance.choice((1_999, 2_000, 2_001, 9_999)) // len(piece) + 1))[:9_999]
    if kind < 0.25:
        return "".join(_character(chance) for _ in range(chance.randrange(1, 40)))
    pieces = [chance.choice(ALL) for _ in range(chance.randrange(1, 5))]
    return chance.choice(("", " ", "\n", " the cat ")).join(pieces)


def _character(chance: random.Random) -> str:
    most = chance.choice((0x7F, 0x24F, 0x6FF, 0xFFFF, 0x10FFFF))
    code = chance.randrange(most + 1)
    return chr(code) if not 0xD800 <= code <= 0xDFFF else "\ufffd"


def link(chance: random.Random) -> str:
    """A query string with odd values for some keys, or hardly a query string at all."""
    if chance.random() < 0.1:
        return chance.choice(LINKS)
    chosen = chance.sample(keys(), chance.randrange(1, 5))
    values = [(key, _value(chance)) for key in chosen]
    if chance.random() < 0.2:
        values += values[:1] * chance.randrange(2, 50)
    return "&".join(f"{key}={quote(value)}" for key, value in values)


def _value(chance: random.Random) -> str:
    group = chance.choice([*SNIPPETS.values(), None])
    return text(chance) if group is None else chance.choice(group)


# Numbers and choices that a browser would not send, but that a script can.
_FORGED: tuple[tuple[str, str | int | float | tuple[str, ...]], ...] = (
    ("head", 99), ("head", -1), ("layer", 2**40), ("head", 1.5), ("stage", ("no such stage",)),
    ("stage", ()), ("stage", ("q", "k")), ("model", "../../etc/passwd"), ("model", ""),
    ("mask", "<script>"), ("mask", ""), ("off", ("encoder.99.self",)), ("off", ("", "x" * 9_999)),
    ("combine", "no such"), ("example", ("<b>",)), ("example", ("a", "b")),
)  # fmt: skip


def cases(n: int, seed: int = 0) -> Iterator[Case]:
    """So many cases: on every page, in the text box, in the link, in other widgets."""
    chance = random.Random(seed)
    for number in range(n):
        page = pages()[number % len(pages())]
        kind = chance.random()
        if kind < 0.45:
            yield Case("link", page, link(chance))
        elif kind < 0.65:
            yield Case("text in a link", page, f"text={quote(text(chance))}")
        elif kind < 0.90:
            yield Case("typed text", page, "", "text", text(chance))
        elif kind < 0.95:
            yield Case("typed target", TRANSLATE, "", "target", text(chance))
        else:
            yield Case("forged value", EXPLORE, "", *chance.choice(_FORGED))
