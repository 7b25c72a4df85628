"""The project's own folder format: what is written is read, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from attention_lab import zoo
from attention_lab.config import Kind
from attention_lab.errors import ModelError
from attention_lab.zoo import native
from tests.factories import tiny_model


def write(folder: Path, kind: Kind = "encoder", **changes: Any) -> zoo.Model:
    model = tiny_model(kind, **changes)
    target = model.target_tokenizer
    folder.mkdir()
    native.write(
        folder,
        native.Parts(
            model.config,
            model.module.state_dict(),
            model.tokenizer.to_str(),
            model.card,
            None if target is None else target.to_str(),
        ),
    )
    return model


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("encoder", {}),
        ("decoder", {"tie_embeddings": True}),
        ("decoder", {"norm": "rms", "activation": "silu_gated", "position": "rotary"}),
        ("encoder-decoder", {}),
    ],
)
def test_what_is_written_is_read(tmp_path: Path, kind: Kind, changes: dict[str, Any]) -> None:
    before = write(tmp_path / "model", kind, **changes)
    after = zoo.load(tmp_path / "model")
    native.verify(tmp_path / "model")
    assert (after.config, after.card) == (before.config, before.card)
    assert after.tokenizer.to_str() == before.tokenizer.to_str()
    state = after.module.state_dict()
    assert all(torch.equal(state[n], value) for n, value in before.module.state_dict().items())
    assert not after.module.training
    assert not any(parameter.requires_grad for parameter in after.module.parameters())


def test_half_precision_on_disk_is_float32_in_memory(tmp_path: Path) -> None:
    write(tmp_path / "model")
    path = tmp_path / "model" / "model.safetensors"
    save_file({name: value.half() for name, value in load_file(path).items()}, path)
    state = zoo.load(tmp_path / "model").module.state_dict()
    assert {value.dtype for value in state.values()} == {torch.float32}


def test_a_loaded_folder_may_change_under_the_model(tmp_path: Path) -> None:
    write(tmp_path / "model")
    model = zoo.load(tmp_path / "model")
    path = tmp_path / "model" / "model.safetensors"
    before = {name: value.clone() for name, value in model.module.state_dict().items()}
    with path.open("r+b") as file:
        file.write(b"\0" * path.stat().st_size)
    state = model.module.state_dict()
    assert all(torch.equal(state[name], value) for name, value in before.items())


@pytest.mark.parametrize(
    ("name", "changes", "match"),
    [
        ("card.json", {"surprise": 1}, r"card\.json"),
        ("card.json", {"title": 5}, "title: 5"),
        ("card.json", {"bos_id": True}, "bos_id: True"),
        ("config.json", {"surprise": 1}, r"config\.json"),
        ("config.json", {"n_layers": 3}, r"lack the parameter encoder\.layers\.2"),
        ("config.json", {"n_layers": 10**9}, "impossible sizes"),
        ("config.json", {"d_model": 10**9}, "has shape|impossible"),
        ("config.json", {"norm": "batch"}, "norm"),
        ("config.json", {"d_vocab": 7}, "has shape"),
    ],
)
def test_a_broken_folder(tmp_path: Path, name: str, changes: dict[str, object], match: str) -> None:
    write(tmp_path / "model")
    path = tmp_path / "model" / name
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(ModelError, match=match):
        zoo.load(tmp_path / "model")


def test_an_encoder_decoder_needs_both_tokenizers(tmp_path: Path) -> None:
    write(tmp_path / "model", "encoder-decoder")
    (tmp_path / "model" / "tokenizer.target.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.target\.json"):
        zoo.load(tmp_path / "model")
