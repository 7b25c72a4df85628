"""One person on the Explore page, over Streamlit's own WebSocket; comes back as a browser does."""

import http.client
import re
import threading
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

AGAIN = ForwardMsg.FINISHED_EARLY_FOR_RERUN
LOST = (OSError, WebSocketException, TimeoutError)


@dataclass
class Person:
    """Someone with a sentence and a head of their own, both of which are in their link."""

    address: str
    name: str
    head: int = 1
    replica: str = ""  # the cookie's value
    away: float = 0.0  # seconds from the last answer to the first one after a lost connection
    slowest: float = 0.0  # seconds of the slowest change of the head
    actions: int = 0
    wrong: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def get(self, path: str = "/") -> tuple[int, dict[str, str]]:
        """Ask over HTTP with the cookie; the status and the headers, names in lower case."""
        host, port = self.address.split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
        headers = {"Accept-Encoding": "gzip"}
        headers |= {"Cookie": f"lab_replica={self.replica}"} if self.replica else {}
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        found = {name.lower(): value for name, value in answer.getheaders()}
        self._keep(found.get("set-cookie", ""))
        return answer.status, found

    def open(self) -> None:
        """Open the page by the link of this person's state."""
        headers = {"Cookie": f"lab_replica={self.replica}"} if self.replica else {}
        self._socket: ClientConnection = connect(
            f"ws://{self.address}/_stcore/stream",
            subprotocols=[Subprotocol("streamlit")],
            additional_headers=headers,
            open_timeout=60,
            max_size=None,
            legacy=True,  # to be closed by hand: it lives as long as the person
        )
        answer = self._socket.response
        self._keep(answer.headers.get("Set-Cookie", "") if answer else "")
        self._page, self._head_id, self._fragment = "", "", ""
        message = BackMsg()
        link = {"text": self.name, "layer": 3, "head": self.head}
        message.rerun_script.query_string = urlencode(link)
        self._run(message, [f"head {self.head}", self.name])

    def change_head(self) -> None:
        """Look at the next head."""
        self.head = (self.head + 1) % 12
        message = BackMsg()
        message.rerun_script.fragment_id = self._fragment
        message.rerun_script.widget_states.widgets.add(id=self._head_id).int_value = self.head
        start = time.monotonic()
        self._run(message, [f"head {self.head}"])
        self.slowest = max(self.slowest, time.monotonic() - start)
        self.actions += 1

    def live(self, seconds: float) -> None:
        """Change the head every so many seconds until `stop`; reconnect where that is needed."""
        last = time.monotonic()
        while not self.stop.wait(seconds):
            try:
                self.change_head()
            except LOST:
                self._return()
                self.away = time.monotonic() - last
            last = time.monotonic()
        self._socket.close()

    def _return(self) -> None:
        for _attempt in range(100):
            try:
                return self.open()
            except LOST:
                time.sleep(0.25)
        self.wrong.append("could not come back")

    def _run(self, message: BackMsg, expected: list[str]) -> None:
        message.rerun_script.page_script_hash = self._page
        self._socket.send(message.SerializeToString())
        said = b""
        while True:
            answer = ForwardMsg.FromString(bytes(self._socket.recv(120)))  # type: ignore[arg-type]
            kind = answer.WhichOneof("type")
            if kind == "script_finished" and answer.script_finished != AGAIN:
                break
            if kind == "new_session":
                self._page = answer.new_session.page_script_hash
            elif kind == "delta" and answer.delta.HasField("new_element"):
                element = answer.delta.new_element
                said += element.SerializeToString()
                if element.number_input.label.startswith("Head"):
                    self._head_id = element.number_input.id
                    self._fragment = answer.delta.fragment_id
        self.wrong += [f"{text!r} is missing" for text in expected if text.encode() not in said]
        others = set(re.findall(rb"zebra\d+x", said)) - {self.name.encode()}
        self.wrong += [f"someone else's {other!r}" for other in others]

    def _keep(self, cookie: str) -> None:
        found = re.search(r"lab_replica=(\w+)", cookie)
        self.replica = found[1] if found else self.replica
