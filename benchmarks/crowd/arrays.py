"""Plotly's arrays as they are sent."""

import base64
from typing import Any

import numpy as np


def decode(value: Any) -> np.ndarray:
    """{"dtype": "u1", "bdata": base64, "shape": "3, 4"}, or a list of lists with null for NaN."""
    if not isinstance(value, dict):
        return np.array(value, np.float32)
    array: np.ndarray = np.frombuffer(base64.b64decode(value["bdata"]), np.dtype(value["dtype"]))
    shape = value.get("shape")
    return array.reshape([int(n) for n in str(shape).split(",")]) if shape else array
