"""A figure as the browser gets it, its arrays decoded."""

import base64
import json
from typing import Any

import numpy as np
import plotly.graph_objects as go


def read(figure: go.Figure) -> dict[str, Any]:
    """`data` and `layout`, from the JSON that goes over the network."""
    found: dict[str, Any] = _decode(json.loads(figure.to_json()))
    return found


def _decode(value: Any) -> Any:
    """Plotly's typed arrays are {"dtype": "u1", "bdata": base64, "shape": "3, 4"}."""
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "bdata" not in value:
        return {key: _decode(item) for key, item in value.items()}
    array = np.frombuffer(base64.b64decode(value["bdata"]), np.dtype(value["dtype"]))
    shape = value.get("shape")
    return array.reshape([int(n) for n in str(shape).split(",")]) if shape else array
