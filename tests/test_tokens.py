"""Tokens show the user's own characters, for three kinds of vocabulary and any text."""

import json
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.processors import ByteLevel as ByteLevelProcessor
from tokenizers.processors import TemplateProcessing

from attention_lab.config import Limits
from attention_lab.errors import InputError, LimitError, ModelError
from attention_lab.labels import label
from attention_lab.tokens import Tokens, check_text, parse_tokenizer, tokenize

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "animal", "it", "##s", "'", "#", "g"]


def word_pieces() -> Tokenizer:
    tokenizer = Tokenizer(
        models.WordPiece(vocab={word: id for id, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens([AddedToken(word, normalized=False) for word in WORDS[:5]])
    return tokenizer


def byte_level() -> Tokenizer:
    """All 256 bytes, and a few merges, one of them over a space, one inside a character."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("Ġ", "a"), ("i", "t"), ("Ġ", "it"), ("ð", "Ł"), ("Ġ", "ðŁ"), ("Ģ", "ç")]
    words = [*alphabet, *("".join(merge) for merge in merges)]
    tokenizer = Tokenizer(
        models.BPE(vocab={word: id for id, word in enumerate(words)}, merges=merges)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = ByteLevelProcessor(trim_offsets=True)
    tokenizer.add_special_tokens(["<|end|>"])
    return tokenizer


def meta_space() -> Tokenizer:
    """A Llama-style vocabulary: "▁" for a space, one put in front, bytes for what is missing."""
    words = [
        "<unk>",
        "<s>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        "▁",
        "i",
        "t",
        "▁it",
        "it",
    ]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={word: id for id, word in enumerate(words)},
            merges=[("i", "t"), ("▁", "it")],
            unk_token="<unk>",
            byte_fallback=True,
            fuse_unk=True,
        )
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.add_special_tokens(["<unk>", "<s>"])
    return tokenizer


TOKENIZERS = {
    build.__name__: parse_tokenizer(build().to_str())
    for build in (word_pieces, byte_level, meta_space)
}
BERT, BYTES, LLAMA = TOKENIZERS.values()
every_tokenizer = pytest.mark.parametrize("name", TOKENIZERS)
tricky = st.sampled_from(
    [*"  \n\tĠ▁#'itasTHE猫😀שé", "\u200d", "\u0301", "\x00", "\u202e", "[CLS]"]
)
texts = st.lists(st.one_of(st.text(max_size=8), tricky), max_size=12).map("".join)


@every_tokenizer
@given(text=texts)
@settings(max_examples=150, deadline=None)
def test_tokens_are_the_users_own_characters(name: str, text: str) -> None:
    tokenizer = TOKENIZERS[name]
    tokens = tokenize(tokenizer, text)
    assert list(tokens.ids) == tokenizer.encode(text).ids
    for token in tokens:
        assert 0 <= token.start <= token.end <= len(text)
        assert 1 <= token.part <= token.parts
        if token.start < token.end:
            assert token.text == text[token.start : token.end]
        else:
            assert token.special
        for sign in "Ġ▁Ċ\ufffd":
            assert (sign in token.label) <= (sign in text)
        assert ("##" in token.label) <= ("##" in text)
    typed = [token for token in tokens if token.start < token.end]
    assert [token.start for token in typed] == sorted(token.start for token in typed)


@given(text=texts)
@settings(max_examples=150, deadline=None)
def test_byte_level_tokens_cover_every_character(text: str) -> None:
    covered = {at for token in tokenize(BYTES, text) for at in range(token.start, token.end)}
    assert covered == set(range(len(text)))


@given(text=st.text(alphabet=st.characters(codec="ascii", min_codepoint=33, max_codepoint=126)))
@settings(max_examples=100, deadline=None)
def test_word_pieces_cover_every_visible_ascii_character(text: str) -> None:
    covered = {at for token in tokenize(BERT, text) for at in range(token.start, token.end)}
    assert covered == set(range(len(text)))


@every_tokenizer
@given(text=texts)
@settings(max_examples=100, deadline=None)
def test_parts_count_up_within_a_run_that_shares_characters(name: str, text: str) -> None:
    typed = [token for token in tokenize(TOKENIZERS[name], text) if token.start < token.end]
    for before, after in pairwise(typed):
        if before.part < before.parts:
            assert (after.part, after.parts) == (before.part + 1, before.parts)
            assert after.start < before.end
        else:
            assert after.part == 1
            assert after.start >= before.end


@every_tokenizer
@given(text=texts, limit=st.integers(3, 12))
@settings(max_examples=100, deadline=None)
def test_the_limit_is_exact_and_counts_what_it_leaves_out(name: str, text: str, limit: int) -> None:
    whole = tokenize(TOKENIZERS[name], text)
    cut = tokenize(TOKENIZERS[name], text, limit=limit)
    assert len(cut) == min(limit, len(whole))
    assert len(cut) + cut.left_out == len(whole)
    inside = [token for token in whole if token.start < token.end]
    kept = [token for token in cut if token.start < token.end]
    assert kept == inside[: len(kept)]
    assert whole.left_out == 0


def test_word_pieces_by_hand() -> None:
    tokens = tokenize(BERT, "The animals it's 猫 #")
    assert tokens.labels == (*("[CLS]", "The", "animal", "s", "it", "'", "s", "猫", "#", "[SEP]"),)
    assert [token.special for token in tokens] == [True, *[False] * 8, True]
    assert [token.label for token in tokens if token.unknown] == ["s", "猫"]
    assert (tokens[0].start, tokens[0].end) == (0, 0)
    assert (tokens[-1].start, tokens[-1].end) == (len(tokens.text), len(tokens.text))


def test_the_bytes_of_one_character_are_its_parts() -> None:
    tokens = tokenize(BYTES, "a 😀")
    assert tokens.labels == ("a", "😀 1/3", "😀 2/3", "😀 3/3")
    assert [token.text for token in tokens] == ["a", " 😀", "😀", "😀"]


def test_a_token_over_two_characters_is_a_part_of_both() -> None:
    # U+4E00 is E4 B8 80 and 猫 E7 8C AB: the vocabulary has a token for the bytes 80 E7.
    tokens = tokenize(BYTES, "一猫")
    assert [(token.text, token.part, token.parts) for token in tokens] == [
        *[("一", 1, 5), ("一", 2, 5), ("一猫", 3, 5), ("猫", 4, 5), ("猫", 5, 5)]
    ]


def test_llama_style_bytes_and_prefix() -> None:
    tokens = tokenize(LLAMA, "it 猫")
    assert [token.text for token in tokens[:2]] == ["<s>", "it"]
    assert tokens.labels[2:] == ("␣", "猫 1/3", "猫 2/3", "猫 3/3")


def test_a_special_token_that_the_user_typed_is_one() -> None:
    tokens = tokenize(BERT, "it [MASK] [UNK]")
    assert [(token.text, token.special, token.unknown) for token in tokens[1:-1]] == [
        *[("it", False, False), ("[MASK]", True, False), ("[UNK]", True, False)]
    ]
    assert tokenize(BYTES, "<|end|>a")[0].special


def test_a_word_over_the_vocabularys_longest_is_one_unknown_token() -> None:
    tokens = tokenize(BERT, "x" * 101 + " it")
    assert tokens[1].unknown
    assert tokens[1].text == "x" * 101
    assert len(tokens[1].label) == 24


def test_saved_truncation_padding_and_trimming_are_switched_off() -> None:
    saved = word_pieces()
    saved.enable_truncation(4)
    saved.enable_padding(length=8)
    assert len(tokenize(parse_tokenizer(saved.to_str()), "it " * 9)) == 11
    assert "".join(token.text for token in tokenize(BYTES, " a  it ")) == " a  it "


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InputError, match="Character 1 "):
        tokenize(BERT, "a\ud83d")


def test_a_limit_without_room_is_refused() -> None:
    with pytest.raises(InputError, match="at least 3"):
        tokenize(BERT, "it", limit=2)


def test_threads_with_different_limits_do_not_disturb_each_other() -> None:
    limits = [3 + n % 20 for n in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda limit: len(tokenize(BERT, "it " * 50, limit)), limits))
    assert found == limits


@pytest.mark.parametrize("text", ["", " \n\t\u3000", "\u200b "])
def test_a_text_with_nothing_in_it_is_refused(text: str) -> None:
    if text.strip():
        check_text(text, Limits())  # a zero-width space is a character to some vocabularies
    else:
        with pytest.raises(LimitError, match="empty"):
            check_text(text, Limits())


def test_a_long_text_is_refused_by_its_number() -> None:
    check_text("猫" * 2_000, Limits())
    with pytest.raises(LimitError, match=r"100,000 characters; at most 2,000"):
        check_text("猫" * 100_000, Limits())


@pytest.mark.parametrize(
    "text", ["", "[]", "{", json.dumps({"model": {"type": "Nonsense"}}), "null", "3"]
)
def test_a_broken_tokenizer_file_is_one_clear_error(text: str) -> None:
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        parse_tokenizer(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" animal", "animal"),
        ("  animal ", "␣animal␣"),
        (" ", "␣"),
        ("   ", "␣␣␣"),
        ("\n\t", "⏎⇥"),
        (".\r\n", ".␍⏎"),
        ("\x00", "␀"),
        ("\u200d", "ZWJ"),
        (" \u200d", "ZWJ"),
        ("a\u200bb", "a⟨ZWSP⟩b"),
        ("\u202e", "RLO"),
        ("\u2063", "U+2063"),
        ("👨\u200d👩", "👨\u200d👩"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("\u0301", "◌\u0301"),
        ("ש", "\u2068ש\u2069"),
        ("Ġx", "Ġx"),
        ("##x", "##x"),
        ("▁x", "▁x"),
        ("x" * 25, "x" * 23 + "…"),
    ],
)
def test_labels(text: str, shown: str) -> None:
    assert label(text) == shown


@given(text=st.text(min_size=1, max_size=6))
def test_a_label_is_visible_and_stays_on_its_line(text: str) -> None:
    shown = label(text)
    assert shown.strip()
    assert not any(unicodedata.category(char) in ("Cc", "Zl", "Zp") for char in shown)
    controls = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067"
    assert not any(char in controls for char in shown)


def test_tokens_are_a_sequence() -> None:
    tokens = tokenize(BERT, "it it")
    assert isinstance(tokens, Tokens)
    assert tokens[1:3] == tuple(tokens)[1:3]
    assert len(tokens) == 4


def test_a_tokenizer_that_fails_on_a_text_is_one_clear_error() -> None:
    broken = Tokenizer(models.WordLevel({"a": 0}, unk_token="[UNK]"))
    with pytest.raises(ModelError, match="fails on this text"):
        tokenize(broken, "b")


def test_a_panic_of_the_library_is_one_clear_error() -> None:
    values = json.loads(BERT.to_str())
    values["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        parse_tokenizer(json.dumps(values))
