"""User-visible text goes through `_()`; the language belongs to the context, not the process."""

import gettext
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

LOCALE = Path(__file__).resolve().parent.parent / "assets" / "locale"
_language: ContextVar[str] = ContextVar("language", default="en")


@lru_cache(maxsize=8)
def _catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation("attention_lab", LOCALE, languages=[language], fallback=True)


def use_language(language: str) -> None:
    """Choose the language of this context (thread or session) by its code, e.g. "en" or "zh"."""
    _language.set(language)


def language() -> str:
    """The language of this context; a part of the key of every cache that keeps text."""
    return _language.get()


def _(message: str) -> str:
    """Translate a whole sentence; fill placeholders afterwards with `str.format`."""
    return _catalogue(_language.get()).gettext(message)
