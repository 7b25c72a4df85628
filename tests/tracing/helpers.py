"""What the tests of tracing share: all numbers of a trace, and comparing two traces."""

import numpy as np

from attention_lab.tracing.site import STAGES
from attention_lab.tracing.trace import Trace

TEXTS = (
    "The cat sat on the mat.",
    "the animal did not cross the street because it was too tired",
    "猫追老鼠",
    "a dog!",
    "😀 é ñ it",
)


def numbers(trace: Trace) -> dict[str, np.ndarray]:
    """A copy of every array of a trace, stored or derived, by name."""
    found = {key: value.numpy().copy() for key, value in trace.captured.items()}
    for site in trace.sites:
        found |= {f"{site}.{stage}": trace[site].stage(stage).copy() for stage in STAGES}
    found["hidden"] = trace.hidden.copy()
    if trace.encoded is not None:
        found["encoded"] = trace.encoded.copy()
    if trace.logits is not None:
        found["logits"] = trace.logits.copy()
    return found


def stored(trace: Trace) -> dict[str, np.ndarray]:
    """Every array that the run itself left, by name; all others follow from these."""
    found = {key: value.numpy() for key, value in trace.captured.items()}
    others = ("hidden", "logits", "encoded")
    return found | {name: np.array(getattr(trace, name)) for name in others}


def assert_identical(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    """Bit for bit, name for name."""
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name, strict=True)
