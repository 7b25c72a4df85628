"""From plain dictionaries to a Plotly figure, quickly."""

import base64
from functools import lru_cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from _plotly_utils.utils import is_skipped_key, plotlyjsShortTypes, to_typed_array_spec

_PLAIN = "_plain"


class PlainFigure(go.Figure):  # type: ignore[misc]  # Plotly has no types
    """A figure that stays what it was made of, dictionaries, until somebody looks into it.

    Sending it needs no more. Plotly's objects for it cost ten times what writing its JSON does:
    they are made when an attribute is asked for that only they have.
    """

    def __init__(self, data: list[dict[str, Any]], layout: dict[str, Any]) -> None:
        self.__dict__[_PLAIN] = {"data": data, "layout": layout}

    def __getattr__(self, name: str) -> Any:
        plain = self.__dict__.pop(_PLAIN, None)
        if plain is None:
            raise AttributeError(f"A figure has no {name!r}.")
        super().__init__(plain, _validate=False)
        return getattr(self, name)

    def to_dict(self) -> dict[str, Any]:
        """As Plotly's own, arrays in base64. The template in it is shared: change a copy."""
        plain = self.__dict__.get(_PLAIN)
        if plain is None or not isinstance(pio.templates.default, str):
            found: dict[str, Any] = super().to_dict()
            return found
        packed: dict[str, Any] = _packed(plain)
        packed["layout"].setdefault("template", _template(pio.templates.default))
        return packed


def figure(data: list[dict[str, Any]], layout: dict[str, Any]) -> go.Figure:
    """A figure without Plotly's look at each property, which takes four times as long as the rest.

    The tests have it looked at instead.
    """
    return PlainFigure(data, layout)


@lru_cache(maxsize=4)
def _template(name: str) -> dict[str, Any]:
    """What Plotly puts into each figure that brings no template."""
    found: dict[str, Any] = pio.templates[name].to_plotly_json()
    return found


def _array(values: np.ndarray) -> Any:
    """What `to_typed_array_spec` gives, without its detour for other kinds of arrays."""
    kind = plotlyjsShortTypes.get(str(values.dtype))
    if kind is None or not values.size:
        return to_typed_array_spec(values)
    bytes = base64.b64encode(values.tobytes()).decode("ascii")
    shape = {"shape": str(values.shape)[1:-1]} if values.ndim > 1 else {}
    return {"dtype": kind, "bdata": bytes, **shape}


def _packed(value: Any) -> Any:
    """A copy with every array as Plotly sends it; lists of numbers and texts are taken as is."""
    if isinstance(value, dict):
        return {k: v if is_skipped_key(k) else _packed(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        return [_packed(part) for part in value]
    return value
