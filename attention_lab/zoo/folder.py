"""A Hugging Face style folder (config.json, safetensors, tokenizer.json) as a model of ours."""

import re
from pathlib import Path

from attention_lab.errors import ModelError
from attention_lab.i18n import _
from attention_lab.zoo import files, native, parameters
from attention_lab.zoo.families import FAMILIES
from attention_lab.zoo.loaded import ModelCard
from attention_lab.zoo.values import Values


def convert(folder: Path, source: str, progress: parameters.Progress | None = None) -> native.Parts:
    """Read and convert a folder. Raises `ModelError` for anything that is not fully understood."""
    raw = files.read_json(folder, "config.json")
    values = Values(raw)
    family = FAMILIES.get(str(values.get("model_type")))
    if family is None:
        message = _("The model's family is {family!r}; allowed: {allowed}.")
        allowed = ", ".join(FAMILIES)
        raise ModelError(message.format(family=values.get("model_type"), allowed=allowed))
    values.only(quantization_config=None)
    config = family.config(values)
    with files.open_checkpoint(folder) as checkpoint:
        tokenizer = files.read_text(folder, "tokenizer.json")
        config, state, heads = parameters.convert(family, config, checkpoint, progress)
    card = ModelCard(
        title=Path(source).name,
        kind=f"{config.kind} ({family.title})",
        licence="",
        source=source,
        trained=True,
        bos_id=values.token_id("bos_token_id", config.d_vocab),
        eos_id=values.token_id("eos_token_id", config.d_vocab),
        pad_id=values.token_id("pad_token_id", config.d_vocab),
        notes=_heads_note(heads),
    )
    return native.Parts(config, state, tokenizer, card)


def _heads_note(heads: list[str]) -> str:
    if not heads:
        return ""
    parts = sorted({re.split(r"\.", name)[0] for name in heads})
    return _("Not used: the task head {names}.").format(names=", ".join(parts))
