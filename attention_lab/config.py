"""What defines a Transformer: the frozen `ModelConfig`, and the limits of the app."""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from attention_lab.errors import InputError, ModelError
from attention_lab.i18n import _

Kind = Literal["encoder", "decoder", "encoder-decoder"]
Norm = Literal["layer", "rms"]
NormPlace = Literal["pre", "post"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu_gated"]
Position = Literal["sinusoidal", "learned", "rotary", "alibi", "none"]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Sizes and choices of one Transformer; the model is a function of this and its parameters.

    Raises `ModelError` when the values do not fit together.
    """

    kind: Kind
    d_vocab: int
    d_vocab_target: int = 0  # encoder-decoder only; the encoder reads d_vocab, the decoder this
    d_model: int
    n_layers: int  # a side
    n_heads: int
    n_kv_heads: int  # fewer than n_heads: each key/value head serves a group of query heads
    d_head: int
    d_ff: int
    max_positions: int
    norm: Norm = "layer"
    norm_place: NormPlace = "pre"
    norm_eps: float = 1e-5
    activation: Activation = "relu"
    position: Position = "sinusoidal"
    rotary_base: float = 10_000.0
    n_segments: int = 0  # BERT's token types; 0: none
    embed_norm: bool = False  # BERT normalises the embeddings
    embed_scale: bool = False  # the paper multiplies embeddings by √d_model (section 3.4)
    final_norm: bool = True  # pre-norm stacks end with one
    attention_bias: bool = True
    mlp_bias: bool = True
    unembed: bool = True  # False: the output is the last hidden state (sentence encoders)
    tie_embeddings: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for field in fields(self):
            value, hint = getattr(self, field.name), hints[field.name]
            if get_origin(hint) is Literal:
                _check(value in get_args(hint), field.name, value, ", ".join(get_args(hint)))
            elif hint is int:
                ok = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
                _check(ok, field.name, value, _("a whole number from 0"))
            elif hint is bool:
                _check(isinstance(value, bool), field.name, value, "true, false")
            else:
                ok = isinstance(value, int | float) and 0 <= value < 1e12
                _check(ok, field.name, value, _("a number from 0"))
        sizes = ("d_vocab", "d_model", "n_layers", "n_heads", "n_kv_heads", "d_head", "d_ff")
        for name in (*sizes, "max_positions"):
            _check(getattr(self, name) > 0, name, getattr(self, name), _("a whole number from 1"))
        groups = _("a divisor of n_heads ({n})").format(n=self.n_heads)
        _check(self.n_heads % self.n_kv_heads == 0, "n_kv_heads", self.n_kv_heads, groups)
        if self.position == "rotary":
            _check(self.d_head % 2 == 0, "d_head", self.d_head, _("an even number"))
        if self.kind == "encoder-decoder":
            n = self.d_vocab_target
            _check(n > 0, "d_vocab_target", n, _("a whole number from 1"))

    @property
    def stacks(self) -> tuple[str, ...]:
        """The stacks of layers this model has: "encoder", "decoder" or both."""
        return ("encoder", "decoder") if self.kind == "encoder-decoder" else (self.kind,)

    @property
    def sites(self) -> tuple[str, ...]:
        """Every attention site in the order of computation, e.g. "decoder.0.self"."""
        both = self.kind == "encoder-decoder"
        return tuple(
            f"{stack}.{layer}.{part}"
            for stack in self.stacks
            for layer in range(self.n_layers)
            for part in (("self", "cross") if both and stack == "decoder" else ("self",))
        )

    @property
    def d_logits(self) -> int:
        """The width of the logits; 0 for a model that ends in its hidden state."""
        if not self.unembed:
            return 0
        return self.d_vocab_target if self.kind == "encoder-decoder" else self.d_vocab

    def to_json(self) -> str:
        """The configuration as JSON, the inverse of `from_json`."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "ModelConfig":
        """Read what `to_json` wrote. Raises `ModelError` on anything else."""
        try:
            values: dict[str, Any] = json.loads(text)
            return cls(**values)
        except (ValueError, TypeError) as error:
            message = _("The model's config.json cannot be read: {error}.").format(error=error)
            raise ModelError(message) from error


def _check(ok: bool, name: str, value: object, allowed: str) -> None:
    if not ok:
        message = _("The model's {name} is {value!r}; allowed: {allowed}.")
        raise ModelError(message.format(name=name, value=value, allowed=allowed))


@dataclass(frozen=True)
class Limits:
    """What one request may ask for, and how much one trace may keep."""

    characters: int = 2_000
    tokens: int = 512
    overview_tokens: int = 128
    weight_bytes: int = 64 * 2**20  # above it a trace derives its weights from q, k and mask
    threads: int = 1  # of each forward in the app; many people are served by many forwards
    queue: int = 200  # requests that may wait for a forward; the next one is told to come back
    cache_bytes: int = 512 * 2**20  # of all users together: traces, and what was made of them
    logit_bytes: int = 32 * 2**20  # above it a trace derives its logits from the last hidden state

    @classmethod
    def from_environment(cls) -> "Limits":
        """Defaults; over them the file that `ATTENTION_LAB_CONFIG` names, with lines such as
        `tokens = 256`; over both, variables such as `ATTENTION_LAB_TOKENS=256`.

        Raises `InputError` on a value that is not a whole number from 1, on another name in the
        file, and on a file that cannot be read.
        """
        path = os.environ.get("ATTENTION_LAB_CONFIG")
        found = dict(_from_file(path)) if path else {}
        for field in fields(cls):
            variable = f"ATTENTION_LAB_{field.name.upper()}"
            value = os.environ.get(variable)
            if value is not None:
                found[field.name] = int(value) if value.isdecimal() and value.isascii() else 0
                _check_limit(found[field.name], variable, value)
        return cls(**found)


@lru_cache(maxsize=1)
def _from_file(path: str) -> Mapping[str, int]:
    """The limits in a TOML file, read once."""
    try:
        found = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:  # TOML's own errors are ValueErrors
        message = _("{path}, named by ATTENTION_LAB_CONFIG, cannot be read as TOML: {error}.")
        raise InputError(message.format(path=path, error=str(error).rstrip("."))) from error
    known = [field.name for field in fields(Limits)]
    for name, value in found.items():
        if name not in known:
            message = _("{path} sets {name}, which is no limit; there are {known}.")
            raise InputError(message.format(path=path, name=name, known=", ".join(known)))
        where = _("{name} in {path}").format(name=name, path=path)
        _check_limit(value if type(value) is int else 0, where, value)
    return MappingProxyType(found)


def _check_limit(number: int, name: str, value: object) -> None:
    if number < 1:
        message = _("{name} is {value!r}; it must be a whole number from 1.")
        raise InputError(message.format(name=name, value=value))
