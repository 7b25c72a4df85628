"""Text to tokens: ids for the model, and for people the characters of their own text.

A token never shows the vocabulary's spelling ("Ġanimal", "##s", "▁it"): its text is cut out of the
user's text at the offsets that the tokenizer reports.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, overload

from tokenizers import Tokenizer

from attention_lab.config import Limits
from attention_lab.errors import InputError, LimitError, ModelError
from attention_lab.i18n import _
from attention_lab.labels import label

Row = tuple[int, str, tuple[int, int], int]  # of an Encoding: id, name, offsets, inserted or not


@dataclass(frozen=True)
class Token:
    """One token, and the characters `start` to `end` (exclusive) of the text it stands for."""

    id: int
    text: str  # the user's own characters; a special token's own name
    start: int
    end: int  # equal to start for tokens that the user did not type, such as [CLS]
    special: bool = False
    unknown: bool = False  # the model has no entry for these characters and sees its [UNK]
    part: int = 1  # several tokens may share one character (its bytes): part 1 to parts
    parts: int = 1

    @property
    def label(self) -> str:
        """The text as a picture shows it: "animal" for " animal", "😀 2/4" for a part."""
        return label(self.text, part=self.part, parts=self.parts)


@dataclass(frozen=True)
class Tokens(Sequence[Token]):
    """The tokens of one text, in the order the model reads them."""

    text: str
    items: tuple[Token, ...]
    left_out: int = 0  # tokens of the text beyond the limit

    @property
    def ids(self) -> tuple[int, ...]:
        """The vocabulary ids, one a token."""
        return tuple(token.id for token in self.items)

    @property
    def labels(self) -> tuple[str, ...]:
        """What pictures write on their axes, one a token; equal tokens have equal labels."""
        return tuple(token.label for token in self.items)

    @overload
    def __getitem__(self, index: int) -> Token: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Token, ...]: ...
    def __getitem__(self, index: int | slice) -> Token | tuple[Token, ...]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Token]:
        return iter(self.items)


def check_text(text: str, limits: Limits) -> None:
    """Raise `LimitError` for a text that is empty, blank or has more characters than allowed."""
    if not text.strip():
        raise LimitError(_("The text is empty; type at least one visible character."))
    if len(text) > limits.characters:
        message = _("The text has {n:,} characters; at most {limit:,} are allowed: shorten it.")
        raise LimitError(message.format(n=len(text), limit=limits.characters))


def tokenize(tokenizer: Tokenizer, text: str, limit: int | None = None) -> Tokens:
    """Cut `text` into at most `limit` tokens, special tokens included; `left_out` counts the rest.

    The tokenizer is shared by threads, so its truncation setting is never touched: the one encoding
    is truncated. Raises `InputError` for text that is no valid Unicode, or a limit that leaves no
    room beside the special tokens, `ModelError` if the tokenizer is broken.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = _("Character {n} of the text is half of a surrogate pair; remove it.")
        raise InputError(message.format(n=error.start)) from error
    with _library_errors(_("The model's tokenizer fails on this text: {error}.")):
        encoding = tokenizer.encode(text, add_special_tokens=False)
        special = tokenizer.num_special_tokens_to_add(is_pair=False)
    length = len(encoding)
    parts = _parts(encoding.offsets)
    kept = _room(special, length, limit)
    encoding.truncate(kept)
    with _library_errors(_("The model's tokenizer fails on this text: {error}.")):
        done = tokenizer.post_process(encoding)
        rows = list(zip(done.ids, done.tokens, done.offsets, done.special_tokens_mask, strict=True))
    return Tokens(text, _tokens(tokenizer, text, rows, parts), length - kept)


def _room(special: int, length: int, limit: int | None) -> int:
    """How many of the text's `length` tokens fit beside `special` others."""
    if limit is None:
        return length
    if limit <= special:
        message = _("The limit is {limit} tokens; this model needs at least {n}.")
        raise InputError(message.format(limit=limit, n=special + 1))
    return min(length, limit - special)


def _tokens(
    tokenizer: Tokenizer, text: str, rows: list[Row], parts: list[tuple[int, int]]
) -> tuple[Token, ...]:
    special_ids = {
        id for id, added in tokenizer.get_added_tokens_decoder().items() if added.special
    }
    unknown_id = _unknown_id(tokenizer)
    tokens: list[Token] = []
    remaining = iter(parts)
    place = 0  # where the last token ended: inserted tokens stand there
    for id, name, (start, end), inserted in rows:
        if inserted:
            tokens.append(Token(id, name, place, place, special=True))
            continue
        own = text[start:end]
        typed = own.strip() == name  # the user wrote the special token's name
        special = id in special_ids and (typed or id != unknown_id)
        unknown = id == unknown_id and not typed
        tokens.append(Token(id, own, start, end, special, unknown, *next(remaining, (1, 1))))
        place = end
    return tuple(tokens)


def from_ids(tokenizer: Tokenizer, ids: Sequence[int]) -> Tokens:
    """The tokens that a model wrote; their text is what they decode to, in their context.

    Raises `InputError` for an id that the vocabulary does not have.
    """
    special = {id for id, added in tokenizer.get_added_tokens_decoder().items() if added.special}
    unknown_id = _unknown_id(tokenizer)
    text, offsets = "", list[tuple[int, int]]()
    for i, id in enumerate(ids):
        if not 0 <= id < tokenizer.get_vocab_size():
            message = _("There is no token {id}; the vocabulary has tokens 0 to {last}.")
            raise InputError(message.format(id=id, last=tokenizer.get_vocab_size() - 1))
        start = len(text)
        shown = [other for other in ids[: i + 1] if other not in special or other == unknown_id]
        # A replacement character at the end is a character of which bytes are still missing.
        text = tokenizer.decode(shown, skip_special_tokens=False).rstrip("\ufffd")
        inserted = id in special and id != unknown_id
        offsets.append((start, start if inserted else max(len(text), start + 1)))
    places = zip(ids, offsets, _parts(offsets), strict=True)
    return Tokens(
        text,
        tuple(
            Token(id, text[start:end], start, end, False, id == unknown_id, *part)
            if end > start
            else Token(id, tokenizer.id_to_token(id) or "", start, end, special=True)
            for id, (start, end), part in places
        ),
    )


def name_of(tokenizer: Tokenizer, id: int) -> str:
    """A token of the vocabulary by itself, for a picture."""
    added = tokenizer.get_added_tokens_decoder().get(id)
    if added is not None:
        return str(added.content)
    text = tokenizer.decode([id], skip_special_tokens=False)
    if "\ufffd" in text:  # some bytes of a character are none by themselves
        return _("part of a character, token {id}").format(id=id)
    return label(text)


def _parts(offsets: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """For each token (part, parts) in the run of neighbours that share characters."""
    runs: list[int] = []  # the length of each run
    for index, offset in enumerate(offsets):
        if index and offset[0] < offsets[index - 1][1]:
            runs[-1] += 1
        else:
            runs.append(1)
    return [(part + 1, parts) for parts in runs for part in range(parts)]


def _unknown_id(tokenizer: Tokenizer) -> int | None:
    name = getattr(tokenizer.model, "unk_token", None)
    return None if name is None else tokenizer.token_to_id(name)


def parse_tokenizer(text: str) -> Tokenizer:
    """Build the tokenizer that a tokenizer.json describes. Raises `ModelError` where it is broken.

    Settings that would hide tokens from the user are switched off: truncation and padding saved in
    the file, and the trimming of spaces from offsets.
    """
    with _library_errors(_("The model's tokenizer.json cannot be read: {error}.")):
        values: dict[str, Any] = json.loads(text)
        values |= {"truncation": None, "padding": None}
        _keep_spaces(values.get("post_processor"))
        return Tokenizer.from_str(json.dumps(values))


@contextmanager
def _library_errors(message: str) -> Iterator[None]:
    """Turn whatever a broken tokenizer.json makes the library raise into one `ModelError`.

    It raises nothing narrower than `Exception`, and panics of its Rust code are not even that.
    """
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ModelError(message.format(error=" ".join(str(error).split())[:200])) from error


def _keep_spaces(processor: dict[str, Any] | None) -> None:
    if processor is None:
        return
    if "trim_offsets" in processor:
        processor["trim_offsets"] = False
    for part in processor.get("processors", ()):
        _keep_spaces(part)
