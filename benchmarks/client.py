"""A Streamlit session without a browser: what the server does, timed over its own WebSocket."""

import time
from contextlib import AbstractContextManager
from types import TracebackType

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

AGAIN = ForwardMsg.FINISHED_EARLY_FOR_RERUN


class Session(AbstractContextManager["Session"]):
    """One person's session on the app at `address`, e.g. "127.0.0.1:8501"."""

    def __init__(self, address: str) -> None:
        url = f"ws://{address}/_stcore/stream"
        self._socket = connect(url, subprotocols=["streamlit"], max_size=None)  # type: ignore[list-item]
        self._page = ""
        self._widgets: dict[str, tuple[str, str]] = {}  # label -> id, fragment

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._socket.close()

    def open(self, link: str = "") -> float:
        """The first run of the page, in milliseconds; `link` is what stands behind the "?"."""
        message = BackMsg()
        message.rerun_script.query_string = link
        return self._run(message)

    def change(self, label: str, value: int | str) -> float:
        """Give the widget whose label starts so a value; milliseconds until the run is over."""
        return self._run(self._change(label, value))

    def interrupt(self, label: str, value: int | str) -> None:
        """The same from another thread, while this session waits for the end of a run."""
        self._send(self._change(label, value))

    def _change(self, label: str, value: int | str) -> BackMsg:
        name = next(name for name in self._widgets if name.startswith(label))
        id, fragment = self._widgets[name]
        message = BackMsg()
        message.rerun_script.fragment_id = fragment
        state = message.rerun_script.widget_states.widgets.add(id=id)
        if isinstance(value, int):
            state.int_value = value
        else:
            state.string_value = value
        return message

    def _send(self, message: BackMsg) -> None:
        message.rerun_script.page_script_hash = self._page
        self._socket.send(message.SerializeToString())

    def _run(self, message: BackMsg) -> float:
        start = time.perf_counter()
        self._send(message)
        while True:
            answer = ForwardMsg.FromString(bytes(self._socket.recv(60)))  # type: ignore[arg-type]
            kind = answer.WhichOneof("type")
            if kind == "script_finished" and answer.script_finished != AGAIN:
                return (time.perf_counter() - start) * 1e3
            if kind == "new_session":
                self._page = answer.new_session.page_script_hash
            elif kind == "delta" and answer.delta.HasField("new_element"):
                self._note(answer.delta.new_element, answer.delta.fragment_id)

    def _note(self, element: Element, fragment: str) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            raise RuntimeError(element.exception.message)
        if kind in ("number_input", "text_input"):
            widget = getattr(element, kind)
            self._widgets[widget.label] = (widget.id, fragment)
