"""A broken or hostile folder gives one clear error, and allocates nothing that it only claims."""

import json
import os
import resource
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel

from attention_lab import zoo
from attention_lab.errors import ModelError
from tests.factories import tiny_tokenizer
from tests.zoo.helpers import change_json, oracle, save


@pytest.fixture(scope="module")
def reference() -> PreTrainedModel:
    return oracle("llama")


@pytest.fixture
def folder(reference: PreTrainedModel, tmp_path: Path) -> Path:
    return save(reference, tmp_path / "model")


def refused(folder: Path, match: str) -> str:
    """The one sentence with which `folder` is refused."""
    with pytest.raises(ModelError, match=match) as caught:
        zoo.load(folder)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def change_tensors(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_link_to_itself_is_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).symlink_to(name)
    refused(folder, name)


def test_a_missing_parameter_is_named(folder: Path) -> None:
    change_tensors(folder, lambda tensors: tensors.pop("model.layers.1.mlp.up_proj.weight"))
    refused(folder, r"lack the parameter layers\.1\.mlp\.up_proj\.weight")


def test_many_missing_parameters_are_counted(folder: Path) -> None:
    change_json(folder / "config.json", num_hidden_layers=3)
    refused(folder, r"layers\.2\..* and 6 more")


def test_a_left_over_parameter_is_named(folder: Path) -> None:
    change_tensors(folder, lambda tensors: tensors.update({"model.surprise": torch.ones(2)}))
    refused(folder, "does not have: surprise")


def test_a_bias_that_the_config_does_not_announce_is_named(folder: Path) -> None:
    name = "model.layers.0.self_attn.q_proj.bias"
    change_tensors(folder, lambda tensors: tensors.update({name: torch.ones(24)}))
    refused(folder, r"q_proj\.bias")


def test_a_wrong_shape_is_named(folder: Path) -> None:
    change_json(folder / "config.json", intermediate_size=41)
    refused(folder, r"mlp\.\w+_proj\.weight has shape .*40.*41")


def test_the_same_parameter_under_two_names(folder: Path) -> None:
    change_tensors(folder, lambda tensors: tensors.update({"norm.weight": torch.ones(24)}))
    refused(folder, r"norm\.weight twice")


@pytest.mark.parametrize(
    ("value", "match"),
    [(float("nan"), "not finite"), (float("inf"), "not finite"), (None, "torch.int8")],
)
def test_parameters_that_are_no_numbers(folder: Path, value: float | None, match: str) -> None:
    def change(tensors: dict[str, torch.Tensor]) -> None:
        name = "model.norm.weight"
        if value is None:
            tensors[name] = tensors[name].to(torch.int8)
        else:
            tensors[name][3] = value

    change_tensors(folder, change)
    refused(folder, match)


@pytest.mark.parametrize("keep", [0, 4, 8, 100, -1])
def test_a_truncated_file(folder: Path, keep: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    refused(folder, r"model\.safetensors cannot be read")


def claimed_header(path: Path, shape: list[int], size: int) -> None:
    header = {"model.norm.weight": {"dtype": "F32", "shape": shape, "data_offsets": [0, size]}}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)


def peak() -> int:
    """The largest memory this process ever had, in bytes (Linux counts KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_ten_gigabytes_claimed_in_a_header(folder: Path) -> None:
    before = peak()
    claimed_header(folder / "model.safetensors", [2_500_000_000], 10_000_000_000)
    refused(folder, r"model\.safetensors cannot be read")
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 10_000_000_000) + b"{}")
    refused(folder, r"model\.safetensors cannot be read")
    assert peak() - before < 10**9


@pytest.mark.parametrize(
    ("setting", "match"),
    [
        ("num_hidden_layers", "1,000,000,000 layers"),
        ("vocab_size", r"embed_tokens\.weight has shape|impossible sizes"),
        ("intermediate_size", r"has shape|impossible sizes"),
        ("hidden_size", r"has shape|impossible sizes|not divisible|lack"),
        ("num_attention_heads", "not divisible|has shape|divisor"),
    ],
)
def test_absurd_sizes_allocate_nothing(folder: Path, setting: str, match: str) -> None:
    before = peak()
    change_json(folder / "config.json", **{setting: 10**9, "head_dim": "…"})
    refused(folder, match)
    assert peak() - before < 10**9


def test_a_number_of_layers_beyond_any_integer(folder: Path) -> None:
    change_json(folder / "config.json", num_hidden_layers=10**30)
    refused(folder, "num_hidden_layers")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, b"null", b'{"model_type": NaN}']
)
def test_broken_json(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    refused(folder, rf"{name}|family")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    refused(folder, rf"has no {name}")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_pipe_in_a_files_place_does_not_hang(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    refused(folder, rf"has no {name}")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_link_out_of_the_folder_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    refused(folder, rf"{name} is a link out of its folder")


def test_links_within_the_hubs_cache_are_followed(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "models--a--b"
    (cache / "blobs").mkdir(parents=True)
    snapshot = cache / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    for path in folder.iterdir():
        path.rename(cache / "blobs" / path.name)
        (snapshot / path.name).symlink_to(Path("../../blobs") / path.name)
    assert zoo.load(snapshot).config.d_model == 24


@pytest.mark.parametrize("pickled", ["pytorch_model.bin", "model.pt", "tf_model.h5", "weights.pkl"])
def test_pickles_are_refused_by_name(folder: Path, pickled: str) -> None:
    (folder / "model.safetensors").rename(folder / pickled)
    refused(folder, pickled)


def split(folder: Path) -> Path:
    """The folder's checkpoint as two files with an index; the index."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    index = {}
    for number in (0, 1):
        mine = names[number::2]
        save_file({name: tensors[name] for name in mine}, folder / f"{number}.safetensors")
        index |= dict.fromkeys(mine, f"{number}.safetensors")
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": index}))
    return path


@pytest.mark.parametrize(
    "target", ["../1.safetensors", "/etc/passwd", "sub/1.safetensors", "..", "", "gone.safetensors"]
)
def test_an_index_that_leads_out_of_the_folder(folder: Path, target: str) -> None:
    path = split(folder)
    assert zoo.load(folder)
    index = json.loads(path.read_text())["weight_map"]
    change_json(path, weight_map={**index, "model.norm.weight": target})
    refused(folder, "leads out of its folder|has no gone")


def test_an_index_that_names_what_no_file_holds(folder: Path) -> None:
    path = split(folder)
    index = json.loads(path.read_text())["weight_map"]
    change_json(path, weight_map={**index, "model.ghost": "1.safetensors"})
    refused(folder, r"names model\.ghost")


def test_an_index_that_leaves_out_what_a_file_holds(folder: Path) -> None:
    path = split(folder)
    index = json.loads(path.read_text())["weight_map"]
    del index["model.norm.weight"]
    change_json(path, weight_map=index)
    refused(folder, r"does not say that model\.norm\.weight is in")


@pytest.mark.parametrize("weight_map", [None, [], 3, {"a": 3}, {"a": None}])
def test_an_index_that_is_none(folder: Path, weight_map: object) -> None:
    change_json(split(folder), weight_map=weight_map)
    refused(folder, "weight_map")


def test_a_vocabulary_larger_than_the_embedding(folder: Path) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.add_tokens([f"word{n}" for n in range(64)])
    tokenizer.save(str(folder / "tokenizer.json"))
    refused(folder, r"tokenizer has \d+ tokens; its embedding has 64 rows")


def test_a_special_token_beyond_the_embedding(folder: Path) -> None:
    path = folder / "tokenizer.json"
    values = json.loads(path.read_text())
    values["post_processor"]["special_tokens"]["[CLS]"]["ids"] = [5_000]
    path.write_text(json.dumps(values))
    refused(folder, "tokenizer has 5,001 tokens")


def test_a_name_that_is_nothing() -> None:
    for name in ("nonsense", "", "a/b/c", "~nobody-here/x/y", "x" * 5_000, "\0", "../nowhere"):
        with pytest.raises(ModelError, match="allowed: translator-en-zh, minilm"):
            zoo.load(name)


@given(data=st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_damage_anywhere_gives_a_model_or_its_error(
    reference: PreTrainedModel, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = save(reference, tmp_path_factory.mktemp("damage") / "model")
    path = folder / data.draw(
        st.sampled_from(["config.json", "tokenizer.json", "model.safetensors"]), label="file"
    )
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4), label="changes")):
        content[data.draw(st.integers(0, min(len(content), 3_000) - 1))] = data.draw(
            st.integers(0, 255)
        )
    path.write_bytes(content)
    with suppress(ModelError):
        zoo.load(folder)
