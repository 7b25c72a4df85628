"""A token's text as a picture shows it: nothing invisible, nothing that moves other text around."""

import unicodedata

LONGEST = 24  # characters; an axis has no room for a word of a hundred

SIGNS = {"\n": "⏎", "\t": "⇥", "\x7f": "␡"} | {
    chr(code): chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"
}
NAMES = {
    "\u00a0": "NBSP",
    "\u00ad": "SHY",
    "\u034f": "CGJ",
    "\u200b": "ZWSP",
    "\u200c": "ZWNJ",
    "\u200d": "ZWJ",
    "\u200e": "LRM",
    "\u200f": "RLM",
    "\u202a": "LRE",
    "\u202b": "RLE",
    "\u202c": "PDF",
    "\u202d": "LRO",
    "\u202e": "RLO",
    "\u2060": "WJ",
    "\u2066": "LRI",
    "\u2067": "RLI",
    "\u2068": "FSI",
    "\u2069": "PDI",
    "\ufe0e": "VS15",
    "\ufe0f": "VS16",
    "\ufeff": "BOM",
}
# Code points that are drawn as nothing though their category is not "format".
BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2065\u2800\u3164\uffa0")
ISOLATE, POP = "\u2068", "\u2069"


def label(text: str, *, part: int = 1, parts: int = 1) -> str:
    """The label of a token: one leading space dropped, invisible characters by sign or name.

    >>> label(" animal"), label("  "), label("\u200d"), label("😀", part=2, parts=4)
    ('animal', '␣␣', 'ZWJ', '😀 2/4')
    """
    shown = _visible(text if text.isspace() else text.removeprefix(" "))
    if len(shown) > LONGEST:
        shown = shown[: LONGEST - 1] + "…"
    if any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in shown):
        shown = ISOLATE + shown + POP  # else a right-to-left label reorders what stands beside it
    return shown if parts == 1 else f"{shown} {part}/{parts}"


def _visible(text: str) -> str:
    body = text.strip(" ")
    alone = all(_is_joiner(char) or _is_invisible(char) for char in body)
    shown = "".join(
        _name(char, lonely=len(text) == 1)
        if _is_invisible(char) or (alone and _is_joiner(char))
        else char
        for char in body
    )
    if shown and unicodedata.category(shown[0]).startswith("M"):
        shown = "◌" + shown  # a combining mark would sit on whatever stands before it
    left = len(text) - len(text.lstrip(" "))
    right = len(text) - len(body) - left if body else 0
    return "␣" * left + shown + "␣" * right


def _name(char: str, *, lonely: bool) -> str:
    if char in SIGNS:
        return SIGNS[char]
    name = NAMES.get(char, f"U+{ord(char):04X}")
    return name if lonely else f"⟨{name}⟩"


def _is_joiner(char: str) -> bool:
    """Whether a character shapes visible neighbours: joins emoji and letters, or varies them."""
    return (
        char in "\u034f\u200c\u200d"
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0020" <= char <= "\U000e01ef"
    )


def _is_invisible(char: str) -> bool:
    if char == " " or _is_joiner(char):
        return False
    category = unicodedata.category(char)
    if category == "Cf":  # Arabic number signs are "format" characters too, but visible
        return unicodedata.bidirectional(char) != "AN"
    return category in ("Cc", "Zs", "Zl", "Zp") or char in BLANK
