"""All exhibits, in the order of a lesson."""

from attention_lab.clinic import batch, depth, dropout, masking, positions, shapes, softmax
from attention_lab.clinic.exhibit import Exhibit

MODULES = (softmax, shapes, masking, batch, depth, positions, dropout)


def exhibits() -> dict[str, Exhibit]:
    """Key → exhibit; texts are in the language of the context."""
    return {exhibit.key: exhibit for module in MODULES for exhibit in module.exhibits()}
