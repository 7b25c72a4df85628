"""The one place where text from users becomes Streamlit's Markdown."""

import re

_PUNCTUATION = re.compile(r"([\\`*_{}\[\]()#+\-.!|~<>$&^=])")
_NAME = re.compile(r":(?=\S)")
_WORD_JOINER = "\u2060"  # invisible; keeps ":name:" from becoming an icon


def plain(text: str) -> str:
    """`text` so that Streamlit's Markdown shows it as typed, on one line."""
    escaped = _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))
    return _NAME.sub(":" + _WORD_JOINER, escaped)
