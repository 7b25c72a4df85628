"""What each family of models calls its settings and parameters, and what they are called here."""

from attention_lab.zoo.families import bert, gpt2, llama
from attention_lab.zoo.families.family import Family

FAMILIES: dict[str, Family] = {
    "bert": bert.FAMILY,
    "gpt2": gpt2.FAMILY,
    "llama": llama.FAMILY,
}
