"""The settings in a config.json, each asked for by name and type; what is odd is an error."""

from collections.abc import Mapping
from typing import Any, TypeVar

from attention_lab.errors import ModelError
from attention_lab.i18n import _

T = TypeVar("T")
REQUIRED = object()


class Values:
    """Typed access to a config.json. Every method raises `ModelError` naming the setting."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def get(self, name: str, default: object = None) -> Any:
        """The raw value; JSON's null counts as absent."""
        value = self._values.get(name)
        return default if value is None else value

    def integer(self, name: str, default: object = REQUIRED) -> int:
        """A whole number from 1 to 2³¹."""
        value = self._get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
            raise _wrong(name, value, _("a whole number from 1"))
        return value

    def number(self, name: str, default: object = REQUIRED) -> float:
        """A number above 0."""
        value = self._get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
            raise _wrong(name, value, _("a number above 0"))
        return float(value)

    def flag(self, name: str, default: object = REQUIRED) -> bool:
        """true or false."""
        value = self._get(name, default)
        if not isinstance(value, bool):
            raise _wrong(name, value, "true, false")
        return value

    def choice(self, name: str, choices: Mapping[str, T], default: object = REQUIRED) -> T:
        """What the value means here, by a table of those that the engine knows."""
        value = self._get(name, default)
        if not isinstance(value, str) or value not in choices:
            raise _wrong(name, value, ", ".join(choices))
        return choices[value]

    def only(self, **allowed: object) -> None:
        """Settings that would change the computation must be absent or as the engine has them."""
        for name, value in allowed.items():
            found = self.get(name, value)
            if found != value or isinstance(found, bool) != isinstance(value, bool):
                raise _wrong(name, found, repr(value))

    def head_size(self, d_model: int, n_heads: int) -> int:
        """d_model / n_heads, which must be a whole number."""
        if d_model % n_heads:
            message = _("The model's hidden size {size} is not divisible by its {n} heads.")
            raise ModelError(message.format(size=d_model, n=n_heads))
        return d_model // n_heads

    def token_id(self, name: str, d_vocab: int) -> int | None:
        """The id of a special token, the first of several; None where there is none."""
        value = self.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        is_id = isinstance(value, int) and not isinstance(value, bool)
        return value if is_id and 0 <= value < d_vocab else None

    def _get(self, name: str, default: object) -> Any:
        value = self.get(name, default)
        if value is REQUIRED:
            raise ModelError(_("The model's config.json has no {name}.").format(name=name))
        return value


def _wrong(name: str, value: object, allowed: str) -> ModelError:
    message = _("The model's config.json has {name} {value}; allowed: {allowed}.")
    return ModelError(message.format(name=name, value=_brief(value), allowed=allowed))


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
