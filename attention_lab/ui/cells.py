"""Cells of masks that the user has turned over: their place in the link, and the state of a page.

In the link they stand as "encoder.self:2.5,3.1;decoder.cross:0.4": query.key.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

import streamlit as st

from attention_lab.config import ModelConfig
from attention_lab.i18n import _
from attention_lab.ui import heads, link

MOST = 256  # so many cells can be turned over
_LONGEST = 4_000  # characters of them in a link
_PART = re.compile(r"(\w{1,16}\.\w{1,16}):([0-9]{1,4}\.[0-9]{1,4}(?:,[0-9]{1,4}\.[0-9]{1,4})*)")


class Cell(NamedTuple):
    """One cell of the mask of a kind of attention such as "decoder.cross", in all its layers."""

    part: str
    query: int
    key: int


def read(text: str, parts: Iterable[str]) -> tuple[Cell, ...] | None:
    """The cells that a link names, in order, each once; None where it cannot be read."""
    known, found = set(parts), set[Cell]()
    if not text:
        return ()
    if len(text) > _LONGEST:
        return None
    for piece in text.split(";"):
        match = _PART.fullmatch(piece)
        if match is None or match[1] not in known:
            return None
        pairs = (pair.split(".") for pair in match[2].split(","))
        found |= {Cell(match[1], int(query), int(key)) for query, key in pairs}
    return tuple(sorted(found)) if len(found) <= MOST else None


def write(cells: Iterable[Cell]) -> str:
    """The inverse of `read`."""
    places: dict[str, list[str]] = {}
    for cell in sorted(set(cells)):
        places.setdefault(cell.part, []).append(f"{cell.query}.{cell.key}")
    return ";".join(f"{part}:{','.join(pairs)}" for part, pairs in places.items())


def restore(config: ModelConfig) -> None:
    """The edited cells from the link; what cannot be read is none, and is said."""
    link.restore_checked("cells", lambda text: read(text, heads.parts(config)) is not None)


def now(config: ModelConfig) -> tuple[Cell, ...]:
    """The cells that are turned over at present."""
    return read(st.session_state.get("cells", ""), heads.parts(config)) or ()


def inside(cells: Iterable[Cell], part: str, n_query: int, n_key: int) -> tuple[Cell, ...]:
    """Those of a part that the present sentence has."""
    return tuple(c for c in cells if c.part == part and c.query < n_query and c.key < n_key)


def turn(config: ModelConfig, cell: Cell) -> None:
    """Turn a cell over, or back. With too many of them nothing happens but a message."""
    cells = set(now(config)) ^ {cell}
    if len(cells) > MOST:
        st.toast(_("{n} cells are turned over, the most that a link holds.").format(n=MOST))
        return
    st.session_state["cells"] = write(cells)


def turn_all_back() -> None:
    """Undo all edits of cells."""
    st.session_state["cells"] = ""
