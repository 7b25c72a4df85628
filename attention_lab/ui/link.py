"""The link: all state of a page is in the URL, and what is wrong in a link is said.

Widgets are not bound to the URL by Streamlit, because then it would hold their labels, which change
with the language; here it holds the values.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attention_lab.i18n import _
from attention_lab.ui.markup import plain

_DEFAULTS = "_link_defaults"  # session state: key -> value that needs no place in the URL
_PROBLEMS = "_link_problems"  # session state: sentences to show once
_PAGE, _MOVED = "_link_page", "_link_moved"  # session state: the page, and whether it is a new one
_ABSENT = object()


def begin() -> None:
    """At the start of a page: forget which keys the last page had in its link."""
    context = get_script_run_ctx()
    page = context.page_script_hash if context else ""
    st.session_state[_DEFAULTS] = {}
    st.session_state[_MOVED] = st.session_state.get(_PAGE) != page
    st.session_state[_PAGE] = page


def restore(key: str, options: Iterable[Any], default: Any) -> Any:
    """Before the widget of `key` is drawn: the link's value if it is an option, else `default`.

    A value that was an option before and is none now (of another model, say) gives way as well.
    """
    known = {_written(option): option for option in options}
    asked = st.query_params.get(key) if key not in st.session_state else None
    if asked is not None and asked not in known:
        _not_possible(key, asked, _written(default))
    current = known.get(asked or "", default) if asked else st.session_state.get(key, default)
    return _put(key, current if _written(current) in known else default, default)


def forget(*keys: str) -> None:
    """Drop choices from the state and from the URL, so that their next `restore` is a default."""
    for key in keys:
        st.session_state.pop(key, None)
        st.query_params.pop(key, None)


def restore_list(key: str, options: Sequence[str]) -> list[str]:
    """The same for a choice of several, empty by default."""
    known = set(options)
    if key not in st.session_state:
        asked = st.query_params.get_all(key)
        for value in dict.fromkeys(asked):
            if value not in known:
                message = _(
                    "The link asks for {key} = {asked}, which there is not: it is left out."
                )
                complain(message.format(key=key, asked=value[:80]))
        st.session_state[key] = list(dict.fromkeys(asked))
    return list(_put(key, [value for value in st.session_state[key] if value in known], []))


def restore_text(key: str, default: str) -> str:
    """The same for free text."""
    asked = st.query_params.get(key, default)
    return str(_put(key, st.session_state.get(key, asked), default))


def restore_checked(key: str, is_right: Callable[[str], bool], default: str = "") -> str:
    """The same for text of a certain form; a link's that has it not gives way to `default`.

    What a user types stays, right or wrong: the page says what is wrong with it.
    """
    asked = st.query_params.get(key) if key not in st.session_state else None
    if asked is not None and not is_right(asked):
        _not_possible(key, asked, default or _("nothing"))
        asked = None
    return str(_put(key, st.session_state.get(key, asked or default), default))


def write(leave_out: Sequence[str] = ()) -> None:
    """Bring the URL up to date with the state; values equal to their default are not written."""
    here = set(st.query_params)
    for key, default in _defaults().items():
        value = st.session_state.get(key, default)
        if value == default or key in leave_out:
            if key in here:
                del st.query_params[key]
            continue
        many = isinstance(value, list)
        wanted = [_written(v) for v in value] if many else [_written(value)]
        if st.query_params.get_all(key) != wanted:
            st.query_params[key] = wanted if many else wanted[0]


def explain() -> None:
    """Say once what in the link could not be used."""
    problems = st.session_state.pop(_PROBLEMS, [])
    if problems:
        lines = "  \n".join(plain(problem) for problem in problems)
        st.warning(lines, icon=":material/link_off:")


def _not_possible(key: str, asked: str, used: str) -> None:
    message = _("The link asks for {key} = {asked}, which is not possible here: {used} is used.")
    complain(message.format(key=key, asked=asked[:80], used=used))


def complain(problem: str) -> None:
    """Something in the link could not be used: said once, by `explain`."""
    st.session_state.setdefault(_PROBLEMS, []).append(problem)


def _put(key: str, value: Any, default: Any) -> Any:
    """Set the state of a widget, but only where that changes something: setting it again could undo
    what the user does meanwhile. On a new page the widget is a new one and has to be told."""
    if st.session_state.get(_MOVED) or st.session_state.get(key, _ABSENT) != value:
        st.session_state[key] = value
    _defaults()[key] = default
    return value


def _defaults() -> dict[str, Any]:
    defaults: dict[str, Any] = st.session_state.setdefault(_DEFAULTS, {})
    return defaults


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
