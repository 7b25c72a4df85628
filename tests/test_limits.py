"""Limits come from defaults, a file, and the environment, and wrong ones are refused in words."""

from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_lab.config import Limits, _from_file
from attention_lab.errors import InputError


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configuration file; not written yet."""
    for field in fields(Limits):
        monkeypatch.delenv(f"ATTENTION_LAB_{field.name.upper()}", raising=False)
    _from_file.cache_clear()
    path = tmp_path / "attention_lab.toml"
    monkeypatch.setenv("ATTENTION_LAB_CONFIG", str(path))
    return path


def test_the_environment_counts_before_the_file_and_the_file_before_the_default(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("tokens = 100\ncharacters = 1_000 # a comment\n")
    monkeypatch.setenv("ATTENTION_LAB_TOKENS", "7")
    limits = Limits.from_environment()
    assert limits == Limits(tokens=7, characters=1000)
    assert limits.queue == Limits().queue


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("tokens = 0", "whole number from 1"),
        ("tokens = -1", "whole number from 1"),
        ("tokens = 1.5", "whole number from 1"),
        ("tokens = true", "whole number from 1"),
        ('tokens = "12"', "whole number from 1"),
        ("tokens = [1]", "whole number from 1"),
        ("token = 1", "no limit; there are characters, tokens"),
        ("tokens 1", "cannot be read as TOML"),
        ("tokens = 1\ntokens = 2", "cannot be read as TOML"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence(file: Path, line: str, why: str) -> None:
    file.write_text(line)
    with pytest.raises(InputError, match=why) as caught:
        Limits.from_environment()
    assert file.name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text_is_refused(file: Path) -> None:
    with pytest.raises(InputError, match="ATTENTION_LAB_CONFIG"):
        Limits.from_environment()
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="ATTENTION_LAB_CONFIG"):
        Limits.from_environment()


@given(value=st.text(max_size=8).filter(lambda text: "\0" not in text))
def test_a_variable_is_a_whole_number_from_1_or_refused(value: str) -> None:
    right = value.isascii() and value.isdigit() and int(value) >= 1
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ATTENTION_LAB_CONFIG", raising=False)
        try:
            patch.setenv("ATTENTION_LAB_QUEUE", value)
        except UnicodeEncodeError:
            return
        if right:
            assert Limits.from_environment().queue == int(value)
            return
        with pytest.raises(InputError, match="ATTENTION_LAB_QUEUE is"):
            Limits.from_environment()
