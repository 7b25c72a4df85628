"""Model folders that are broken in some way, as a stranger might send them."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

import attention_lab as lab
from attention_lab.config import ModelConfig
from attention_lab.errors import LabError
from attention_lab.model.transformer import Transformer
from attention_lab.zoo import native
from attention_lab.zoo.loaded import ModelCard

WORDS = ("[UNK]", "a", "b", "the", "cat")
SIZE = 8  # d_model of the tiny models
ODD_VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 2, 7, 2**31, 2**63, 10**400, 0.5, 1e309, float("nan"), True, None, "", "x", "\x00"),
    *([], {}, [1], {"a": 1}, "../../etc/passwd", "relu", "encoder-decoder", "nested" * 9_999),
)


def native_folder(folder: Path) -> Path:
    """A tiny model in the project's own format."""
    config = ModelConfig(
        kind="encoder", d_vocab=len(WORDS), d_model=SIZE, n_layers=1, n_heads=2, n_kv_heads=2,
        d_head=4, d_ff=8, max_positions=16,
    )  # fmt: skip
    card = ModelCard("Tiny", "encoder", "none", "made here", False, None, None, None)
    parts = native.Parts(config, Transformer(config).state_dict(), _tokenizer().to_str(), card)
    folder.mkdir(parents=True)
    native.write(folder, parts)
    return folder


def foreign_folder(folder: Path) -> Path:
    """A tiny model as Llama's family is published."""
    folder.mkdir(parents=True)
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": len(WORDS),
        "hidden_size": SIZE, "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_act": "silu",
        "num_key_value_heads": 2, "intermediate_size": SIZE, "max_position_embeddings": 16,
        "rms_norm_eps": 1e-6, "rope_theta": 10_000.0, "tie_word_embeddings": True,
        "attention_bias": False, "mlp_bias": False, "head_dim": 4,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(_tokenizer().to_str())
    layer = "model.layers.0."
    square = [f"{layer}self_attn.{name}_proj.weight" for name in "qkvo"]
    square += [f"{layer}mlp.{name}_proj.weight" for name in ("gate", "up", "down")]
    flat = ["model.norm.weight", f"{layer}input_layernorm.weight"]
    flat += [f"{layer}post_attention_layernorm.weight"]
    tensors = {name: torch.randn(SIZE, SIZE) for name in square}
    tensors |= {name: torch.ones(SIZE) for name in flat}
    tensors["model.embed_tokens.weight"] = torch.randn(len(WORDS), SIZE)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _tokenizer() -> Tokenizer:
    vocabulary = {word: id for id, word in enumerate(WORDS)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    return tokenizer


def spoil(folder: Path, chance: random.Random) -> str:
    """Break one file; what was done, in words."""
    whole = [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]
    file = chance.choice(sorted(whole))
    ways: list[Callable[[Path, random.Random], str]] = [_cut, _flip, _replace, _remove, _noise]
    if file.suffix == ".json":
        ways += [_odd_value, _odd_value, _odd_value, _odd_value]
    return f"{file.name}: {chance.choice(ways)(file, chance)}"


def _cut(file: Path, chance: random.Random) -> str:
    data = file.read_bytes()
    file.write_bytes(data[: chance.randrange(len(data) + 1)])
    return "cut off"


def _flip(file: Path, chance: random.Random) -> str:
    data = bytearray(file.read_bytes())
    for _ in range(chance.randrange(1, 9) if data else 0):
        data[chance.randrange(len(data))] = chance.randrange(256)
    file.write_bytes(bytes(data))
    return "some bytes changed"


def _replace(file: Path, chance: random.Random) -> str:
    texts = ("", "null", "[]", "{}", "[" * 99_999, '"x"', "\x00", "\ufeff{}", "1e999", "{" * 999)
    file.write_text(chance.choice(texts))
    return "other JSON"


def _remove(file: Path, chance: random.Random) -> str:
    file.unlink()
    if chance.random() < 0.5:
        file.symlink_to(chance.choice(("/etc/passwd", "/dev/zero", "..", file.name)))
        return "a link instead"
    return "missing"


def _noise(file: Path, chance: random.Random) -> str:
    file.write_bytes(chance.randbytes(chance.randrange(1, 5_000)))
    return "noise"


def _odd_value(file: Path, chance: random.Random) -> str:
    """Somewhere in the JSON another value, or a key more or less."""
    try:
        root = json.loads(file.read_text())
    except ValueError:
        return "already broken"
    at, name = root, ""
    while isinstance(at, dict) and at:
        name = chance.choice(sorted(at))
        if not isinstance(at[name], dict) or chance.random() < 0.3:
            break
        at = at[name]
    if not isinstance(at, dict):
        return "nothing to change"
    if chance.random() < 0.2:
        at.pop(name, None)
    else:
        at[name or "x"] = chance.choice(ODD_VALUES)
    file.write_text(json.dumps(root))
    return f"an odd value of {name}"


def folder_problems(n: int, seed: int, work: Path) -> list[str]:
    """Break so many folders and use each; what was neither used nor refused in one sentence."""
    chance = random.Random(seed)
    makers = {"native": native_folder, "foreign": foreign_folder}
    whole = {name: make(work / name) for name, make in makers.items()}
    for folder in whole.values():
        lab.trace(lab.load(folder), "a b")  # they do work before they are broken
    found = []
    for number in range(n):
        name = chance.choice(sorted(whole))
        folder = work / f"broken-{number}"
        shutil.copytree(whole[name], folder)
        done = [spoil(folder, chance) for _ in range(chance.choice((1, 1, 1, 2)))]
        problem = _use(folder)
        if problem:
            found.append(f"{name}, {', '.join(done)}: {problem}")
        shutil.rmtree(folder)
    return found


def _use(folder: Path) -> str:
    try:
        lab.trace(lab.load(folder), "a b")
    except LabError as error:
        sentence = str(error).partition("Type-check error")[0]  # the tests', of many lines
        return "" if sentence and "\n" not in sentence else f"not one sentence: {sentence!r}"
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        return f"{type(error).__name__}: {error}"
    return ""
