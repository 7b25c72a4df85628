"""Nothing that a user typed in the log: errors are logged by their kind and place alone."""

import logging
import sys
import threading
import traceback
from types import TracebackType
from typing import Any

_make_record = logging.getLogRecordFactory()


def leave_texts_out() -> None:
    """From now on every traceback in the log, whoever writes it, has no messages of errors.

    A message may quote the text that could not be read. Kinds, files and lines remain.
    """
    logging.setLogRecordFactory(_record)
    threading.excepthook = _log_thread
    sys.excepthook = _log


def _record(*args: Any, **options: Any) -> logging.LogRecord:
    record = _make_record(*args, **options)
    if record.exc_info and record.exc_info[1] is not None:
        record.exc_text = without_messages(record.exc_info[1])  # formatters take it as it is
    return record


def without_messages(error: BaseException) -> str:
    """A traceback of kinds, files and lines, with the errors that led to it."""
    found = traceback.TracebackException.from_exception(error, compact=True)
    return "".join(_lines(found, {id(found)})).rstrip("\n")


def _lines(error: traceback.TracebackException, seen: set[int]) -> list[str]:
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    lines: list[str] = []
    if before is not None and id(before) not in seen:
        lines = [*_lines(before, seen | {id(before)}), "\nand then:\n\n"]
    kind = error.exc_type.__qualname__ if error.exc_type else "error"
    head = "Traceback (most recent call last):\n"
    return [*lines, head, *error.stack.format(), f"{kind} (its message is not logged)\n"]


def _log(kind: type[BaseException], error: BaseException, place: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    print(without_messages(error), file=sys.stderr)


def _log_thread(arguments: threading.ExceptHookArgs) -> None:
    if arguments.exc_value is not None and arguments.exc_type is not SystemExit:
        print(without_messages(arguments.exc_value), file=sys.stderr)
