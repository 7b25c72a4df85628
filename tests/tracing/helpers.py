"""What the tests of tracing share: all numbers of a trace, and comparing two traces."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

import attention_lab as lab
from attention_lab.tracing.site import STAGES
from attention_lab.tracing.trace import Trace
from attention_lab.zoo.loaded import Model
from tests.factories import tiny_model

TEXTS = (
    "The cat sat on the mat.",
    "the animal did not cross the street because it was too tired",
    "猫追老鼠",
    "a dog!",
    "😀 é ñ it",
)
TARGET = "猫 sat on"


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


def run(model: Model, text: str = TEXTS[0], **options: Any) -> Trace:
    return lab.trace(model, text, TARGET if model.target_tokenizer else None, **options)


def with_parameters(model: Model, change: Callable[[dict[str, Tensor]], None]) -> Model:
    """A copy of the model whose parameters `change` has changed."""
    fresh = tiny_model(model.config.kind)
    module = type(model.module)(model.config).eval().requires_grad_(False)
    state = {name: tensor.clone() for name, tensor in model.module.state_dict().items()}
    change(state)
    module.load_state_dict(state)
    return replace(fresh, config=model.config, module=module)


def assert_same_output(found: Trace, expected: Trace) -> None:
    np.testing.assert_allclose(found.hidden, expected.hidden, rtol=0, atol=1e-5)
    for site in expected.sites:
        np.testing.assert_allclose(
            found[site].attn_out, expected[site].attn_out, rtol=0, atol=1e-5, err_msg=site
        )
