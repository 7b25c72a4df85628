"""Tiny folders in other people's formats, a wheel to pull, and a hub on the loopback address."""

import hashlib
import json
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
)

from attention_lab.zoo.registry import Entry, File, Hub, Wheel
from tests.factories import tiny_tokenizer

SIZES: dict[str, dict[str, Any]] = {
    "bert": {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 24,
        "max_position_embeddings": 32,
    },
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 32},
    "llama": {
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "intermediate_size": 40,
        "max_position_embeddings": 32,
    },
}
MAKE: dict[str, Any] = {
    "bert": (BertConfig, BertModel),
    "gpt2": (GPT2Config, GPT2LMHeadModel),
    "llama": (LlamaConfig, LlamaForCausalLM),
}


def oracle(family: str, model_class: Any = None, **changes: Any) -> PreTrainedModel:
    """A tiny model of `transformers` whose every parameter, norms too, is random."""
    config_class, default = MAKE[family]
    config = config_class(**{"vocab_size": 64} | SIZES[family] | changes)
    config._attn_implementation = "eager"
    model: PreTrainedModel = (model_class or default)(config).eval().requires_grad_(False)
    generator = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        around = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
        parameter.copy_(around + 0.3 * torch.randn(parameter.shape, generator=generator))
    return model


def save(model: PreTrainedModel, folder: Path, **options: Any) -> Path:
    """`model` in a folder with a tokenizer, as people have it on their disks."""
    model.save_pretrained(folder, **options)
    tiny_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def change_json(path: Path, **changes: Any) -> None:
    """Set values of a JSON file; None deletes one."""
    values = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({name: value for name, value in values.items() if value != "…"}))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_wheel(folder: Path, model: Path, name: str = "tiny-data") -> Path:
    """A wheel that carries a model folder, and an __init__.py that must never run."""
    package = name.replace("-", "_")
    wheel = folder / f"{package}-1.0-py3-none-any.whl"
    info = f"{package}-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{package}/__init__.py", "raise SystemExit('imported')")
        for path in sorted(model.iterdir()):
            archive.write(path, f"{package}/model/{path.name}")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


def files_of(model: Path, prefix: str) -> tuple[File, ...]:
    names = ("config.json", "model.safetensors", "tokenizer.json")
    return tuple(File(prefix + name, sha256(model / name), name) for name in names)


def make_entry(*sources: Wheel | Hub, name: str = "tiny") -> Entry:
    return Entry(name, "Tiny", "encoder (BERT)", "none", 20_000, "nothing", sources)


class StandInHub:
    """A hub with the endpoints that huggingface_hub asks: a repository's list, and its files."""

    def __init__(self, repositories: dict[str, Path]) -> None:
        self.repositories = repositories
        self.requests: list[str] = []
        self.sha = "0123456789abcdef0123456789abcdef01234567"

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body for a path."""
        path = path.partition("?")[0]
        self.requests.append(path)
        for name, folder in self.repositories.items():
            if path.startswith(f"/api/models/{name}"):
                siblings = [
                    {"rfilename": str(file.relative_to(folder)), "size": file.stat().st_size}
                    for file in sorted(folder.rglob("*"))
                    if file.is_file()
                ]
                if f"/{name}/tree/" in path:
                    tree = [
                        {"type": "file", "oid": "0", "path": s["rfilename"], "size": s["size"]}
                        for s in siblings
                    ]
                    return 200, {}, json.dumps(tree).encode()
                body = {"id": name, "sha": self.sha, "siblings": siblings}
                return 200, {}, json.dumps(body).encode()
            if path.startswith(f"/{name}/resolve/"):
                file = folder / path.removeprefix(f"/{name}/resolve/").partition("/")[2]
                if file.is_file():
                    headers = {"ETag": f'"{sha256(file)}"', "X-Repo-Commit": self.sha}
                    return 200, headers, file.read_bytes()
        return 404, {"X-Error-Code": "RepoNotFound"}, b"{}"


@contextmanager
def serve(hub: StandInHub) -> Iterator[str]:
    """The hub's address while it runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = hub.answer(self.path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
