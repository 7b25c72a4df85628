"""What all tests share: shapes checked at run time, the pulled models, hypothesis' profile."""

import os
from typing import TYPE_CHECKING, NoReturn

import hypothesis
import pytest
import torch
from jaxtyping import install_import_hook

if TYPE_CHECKING:
    from attention_lab.zoo import Model

# Before anything imports the package: from here on its annotations, shapes included, are checked.
install_import_hook("attention_lab", "beartype.beartype")

CI = os.environ.get("CI") == "true"

hypothesis.settings.register_profile("lab", deadline=None, derandomize=CI)
hypothesis.settings.load_profile("lab")

if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)  # each worker has a core of its own


def unavailable(reason: str) -> NoReturn:
    """Skip this test, or fail it in CI, where everything that tests need must be there."""
    if CI:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def pulled(name: str) -> "Model":
    """Load a pulled model; without it, the test is skipped, or fails in CI."""
    from attention_lab.zoo import NotPulledError, load

    try:
        return load(name)
    except NotPulledError as error:
        unavailable(str(error))


@pytest.fixture(scope="session")
def minilm() -> "Model":
    return pulled("minilm")


@pytest.fixture(scope="session")
def smollm2() -> "Model":
    return pulled("smollm2")
