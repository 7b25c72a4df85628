"""How a page asks for what takes long: a spinner, the place in the queue, and errors in words."""

import functools
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import streamlit as st

from attention_lab.config import Limits
from attention_lab.errors import BusyError, LabError
from attention_lab.i18n import _
from attention_lab.tracing.gate import Gate, gate, telling
from attention_lab.tracing.trace import Trace
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import Request, is_short, run, write
from attention_lab.zoo.loaded import Model

if TYPE_CHECKING:
    from cachetools import _cached_wrapper

P = ParamSpec("P")
R = TypeVar("R")


def in_words(page: Callable[P, None]) -> Callable[P, None]:
    """A page, or a part of one, that ends with a sentence where it raises a `LabError`.

    When too many are waiting, it tries again by itself.
    """

    @functools.wraps(page)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with _turn():
                page(*args, **kwargs)
        except BusyError as error:
            st.warning(plain(str(error)), icon=":material/hourglass_top:")
            _retry(page.__qualname__)
        except LabError as error:
            st.error(plain(str(error)))

    return guarded


@functools.lru_cache(maxsize=1)
def _pages() -> Gate:
    """Pages are computed one at a time, beside long runs, which have a gate of their own.

    Python runs one thread at a time in any case. Many would take the interpreter from each other,
    and from a run between any two of its operations, so that each took many times as long.
    """
    return Gate(1, Limits.from_environment().queue)


@contextmanager
def _turn() -> Iterator[None]:
    """Wait for a page's turn; whoever waits for long sees how many come before."""
    with ExitStack() as held:
        with ExitStack() as shown, telling(lambda place: show(place)):

            def show(place: int) -> None:
                shown.close()
                if place:
                    shown.enter_context(st.spinner(_place(place), show_time=True))

            held.enter_context(_pages())
        yield


def outside() -> AbstractContextManager[None]:
    """While a page has to wait for a forward or a download, others have their turn."""
    return _pages().without_place()


def _retry(key: str) -> None:
    """Run the page again after a few seconds, or at once by a button."""
    is_drawn = False

    @st.fragment(run_every=random.uniform(3, 6))  # not everybody at the same moment again
    def again() -> None:
        nonlocal is_drawn
        st.caption(_("This page tries again by itself every few seconds."))
        button = st.button(_("Try again now"), key=f"again_{key}", icon=":material/refresh:")
        if button or is_drawn:
            st.rerun()
        is_drawn = True

    again()


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """A spinner with `text`; when the model is busy, how many requests come before this one.

    The message is sent by the script that waits, so a run that the user has replaced meanwhile, by
    typing on, ends here and gives its place up.
    """
    with ExitStack() as shown, telling(lambda place: show(_place(place) if place else text)):

        def show(text: str) -> None:
            shown.close()
            shown.enter_context(st.spinner(text, show_time=True))

        show(text)
        yield


def _place(place: int) -> str:
    """The place in the queue, from 1, in words."""
    if place == 1:
        return _("Many people are using the model. Your request is the next one.")
    text = _("Many people are using the model. There are {n} requests before yours.")
    return text.format(n=place - 1)


def ask(text: str, function: "_cached_wrapper[P, R]", *args: P.args, **options: P.kwargs) -> R:
    """What a kept function returns; when it has to be computed, `waiting` with `text`.

    Meanwhile other pages have their turn.
    """
    if function.cache_key(*args, **options) in function.cache:
        return function(*args, **options)
    with waiting(text), outside():
        return function(*args, **options)


def request_of(model: Model, text: str) -> Request:
    """The text through the model as it was trained; a translator also writes its target."""
    if model.target_tokenizer is None:
        return Request(model.name, text)
    target = ask(_("The model writes …"), write, model.name, text)
    return Request(model.name, text, target_ids=target.ids)


def trace_of(request: Request) -> Trace:
    """The trace of a request.

    A short run belongs to the page's turn: to hand the interpreter to and fro between it and the
    next page would take longer than the run.
    """
    if is_short(request):
        with gate().beside():
            return run(request)
    return ask(_("The model reads your sentence …"), run, request)
