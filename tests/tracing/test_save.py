"""A saved trace is read back by numpy without pickle, and a file is whole or not there."""

import json
from pathlib import Path

import numpy as np
import pytest

import attention_lab as lab
from attention_lab.config import Kind, Limits
from attention_lab.errors import InputError
from attention_lab.tracing.trace import Trace
from tests.factories import tiny_model
from tests.tracing.helpers import assert_identical, numbers

KINDS: list[Kind] = ["encoder", "decoder", "encoder-decoder"]


def make(kind: Kind = "encoder", **options: object) -> Trace:
    target = "猫 sat" if kind == "encoder-decoder" else None
    return lab.trace(tiny_model(kind, n_kv_heads=2), "The 😀 cat", target, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limits", [Limits(), Limits(weight_bytes=1, logit_bytes=1)])
def test_what_is_read_back_is_what_was_saved(tmp_path: Path, kind: Kind, limits: Limits) -> None:
    trace = make(kind, limits=limits)
    trace.save(tmp_path / "cat.npz")
    with np.load(tmp_path / "cat.npz", allow_pickle=False) as file:
        found = dict(file)
    texts = {key: json.loads(str(found.pop(key))) for key in ("tokens", "target_tokens")}
    expected = numbers(trace)
    for site in trace.sites:  # as the sites show them: one for each query head
        expected |= {f"{site}.{stage}": trace[site].stage(stage) for stage in ("k", "v")}
    assert_identical(found, expected)
    for key, rows in texts.items():
        tokens = getattr(trace, key) or ()
        assert [(row["id"], row["text"]) for row in rows] == [(t.id, t.text) for t in tokens]
        assert [(row["start"], row["end"]) for row in rows] == [(t.start, t.end) for t in tokens]


def test_saving_again_replaces_the_file_and_leaves_no_other(tmp_path: Path) -> None:
    path = tmp_path / "cat.npz"
    make().save(path)
    trace = make("decoder")
    trace.save(str(path))
    assert list(tmp_path.iterdir()) == [path]
    with np.load(path, allow_pickle=False) as file:
        np.testing.assert_array_equal(file["logits"], trace.logits)


def test_who_is_reading_the_old_file_goes_on_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "cat.npz"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        make().save(path)
        assert reader.read() == b"old"


def test_others_may_read_the_file_as_the_umask_says(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    make().save(tmp_path / "cat.npz")
    assert (tmp_path / "cat.npz").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_keeps_the_old_file_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "cat.npz"
    path.write_bytes(b"old")
    written = []

    def write_array(file: object, array: np.ndarray, allow_pickle: bool) -> None:
        written.append(array)
        if len(written) == 5:
            raise error

    monkeypatch.setattr(np.lib.format, "write_array", write_array)
    with pytest.raises((InputError, KeyboardInterrupt)) as caught:
        make().save(path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"old"
    if isinstance(error, OSError):
        assert "No space left on device" in str(caught.value)


@pytest.mark.parametrize("place", ["missing/cat.npz", ".", "file/cat.npz"])
def test_a_place_that_cannot_be_written_to_is_a_clear_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot be written to .*\(.*\); choose another place"):
        make().save(tmp_path / place)
