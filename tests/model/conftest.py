"""Random inputs that are the same in every run."""

import pytest
import torch


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)
