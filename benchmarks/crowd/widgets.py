"""The values of a page's widgets, kept as Streamlit's browser side keeps and sends them."""

from collections.abc import Callable
from typing import Any

from streamlit.proto.Button_pb2 import Button
from streamlit.proto.ButtonGroup_pb2 import ButtonGroup
from streamlit.proto.Checkbox_pb2 import Checkbox
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.MultiSelect_pb2 import MultiSelect
from streamlit.proto.NumberInput_pb2 import NumberInput
from streamlit.proto.Selectbox_pb2 import Selectbox
from streamlit.proto.Slider_pb2 import Slider
from streamlit.proto.TextInput_pb2 import TextInput
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

Value = str | bool | int | float | list[str] | list[float]


class Widgets:
    """What is on the page now: by id the value, by key or label the id."""

    def __init__(self) -> None:
        self._states: dict[str, WidgetState] = {}
        self._fragments: dict[str, str] = {}
        self._names: dict[str, str] = {}  # key and label -> id
        self._options: dict[str, list[str]] = {}
        self._seen: set[str] = set()

    def note(self, element: Element, fragment: str) -> None:
        """An element has come; a widget that is new or that the server has set takes its value."""
        kind = element.WhichOneof("type")
        read = _READ.get(kind or "")
        if read is None:
            return
        widget: Any = getattr(element, str(kind))
        self._seen.add(widget.id)
        self._fragments[widget.id] = fragment
        self._names[widget.label] = widget.id
        self._names[key_of(widget.id)] = widget.id
        self._options[widget.id] = [
            option if isinstance(option, str) else option.content
            for option in getattr(widget, "options", ())
        ]
        if isinstance(widget, Button):
            return
        if widget.id not in self._states or widget.set_value:
            self._states[widget.id] = _state(widget.id, read(widget))

    def finished(self, fragments: set[str]) -> None:
        """A run is over: what it did not draw is gone. Without `fragments` it was a whole run."""
        for id in list(self._fragments):
            if id not in self._seen and (not fragments or self._fragments[id] in fragments):
                self._fragments.pop(id)
                self._states.pop(id, None)
        self._names = {name: id for name, id in self._names.items() if id in self._fragments}
        self._seen.clear()

    def forget(self) -> None:
        """Another page: its widgets are others."""
        self._states.clear()

    def has(self, name: str) -> bool:
        """Whether there is a widget of that key or label."""
        return name in self._names

    def fragment(self, name: str) -> str:
        """The fragment that draws the widget of that key or label; "" for none."""
        return self._fragments[self._names[name]]

    def options(self, name: str) -> list[str]:
        """The choices of the widget of that key or label, as they are written."""
        return self._options[self._names[name]]

    def set(self, name: str, value: Value) -> None:
        """The person changes the widget of that key or label."""
        id = self._names[name]
        self._states[id] = _state(id, value)

    def states(self, pressed: str | None = None) -> WidgetStates:
        """All values as they are sent, and the button that was just pressed."""
        found = WidgetStates(widgets=self._states.values())
        if pressed is not None:
            found.widgets.add(id=self._names[pressed], trigger_value=True)
        return found


def key_of(id: str) -> str:
    """The key that the app gave an element: the rest of "$$ID-hash-key"."""
    return id.split("-", 2)[-1]


def _state(id: str, value: Value) -> WidgetState:
    state = WidgetState(id=id)
    if isinstance(value, bool):
        state.bool_value = value
    elif isinstance(value, int):
        state.int_value = value
    elif isinstance(value, float):
        state.double_value = value
    elif isinstance(value, str):
        state.string_value = value
    elif value and isinstance(value[0], float):
        state.double_array_value.data.extend(float(number) for number in value)
    else:
        state.string_array_value.SetInParent()
        state.string_array_value.data.extend(str(text) for text in value)
    return state


def _text(widget: TextInput) -> Value:
    return str(widget.value if widget.set_value else widget.default)


def _number(widget: NumberInput) -> Value:
    value = widget.value if widget.set_value else widget.default
    return int(value) if widget.data_type == NumberInput.INT else float(value)


def _choice(widget: Selectbox) -> Value:
    return str(widget.raw_value if widget.set_value else widget.options[widget.default])


def _choices(widget: MultiSelect) -> Value:
    chosen = [widget.options[place] for place in widget.default]
    return list(widget.raw_values) if widget.set_value else chosen


def _group(widget: ButtonGroup) -> Value:
    chosen = [widget.options[place].content for place in widget.default]
    return list(widget.raw_values) if widget.set_value else chosen


def _checked(widget: Checkbox) -> Value:
    return bool(widget.value if widget.set_value else widget.default)


def _slider(widget: Slider) -> Value:
    if widget.type == Slider.SELECT_SLIDER:
        return list(widget.raw_value) or [widget.options[int(place)] for place in widget.default]
    return [float(value) for value in (widget.value if widget.set_value else widget.default)]


_READ: dict[str, Callable[[Any], Value]] = {
    "text_input": _text,
    "number_input": _number,
    "selectbox": _choice,
    "multiselect": _choices,
    "button_group": _group,
    "checkbox": _checked,
    "slider": _slider,
    "button": lambda _widget: False,
}
