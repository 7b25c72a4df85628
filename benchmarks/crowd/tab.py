"""A browser tab with the app in it, as far as the server can tell."""

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage

from benchmarks.crowd.web import XSRF, Web
from benchmarks.crowd.widgets import Value, Widgets, key_of

AGAIN = ForwardMsg.FINISHED_EARLY_FOR_RERUN
PATIENCE = 120.0  # seconds; nobody waits longer for an answer
# Seconds between the attempts to connect again, as Streamlit's browser side makes them.
PAUSES = (0.0, 0.1, 0.2, 0.7, 1.6, 3.2, 6.0)
LOST = (ConnectionClosed, InvalidHandshake, InvalidMessage, OSError)


class LostError(Exception):
    """The connection ended before the answer came."""


@dataclass
class Run:
    """All that one run of the page sent."""

    start: float = field(default_factory=time.perf_counter)
    end: float = 0.0
    elements: list[Element] = field(default_factory=list)

    @property
    def ms(self) -> float:
        """From the message sent to the end of the run."""
        return (self.end - self.start) * 1e3

    def of(self, kind: str) -> list[Any]:
        """The elements of a kind, e.g. "alert"."""
        return [getattr(e, kind) for e in self.elements if e.WhichOneof("type") == kind]

    @property
    def plots(self) -> dict[str, str]:
        """Each picture's JSON by the key that the app gave it."""
        return {key_of(plot.id): plot.spec for plot in self.of("plotly_chart")}

    @property
    def exceptions(self) -> list[str]:
        """What went wrong without the app knowing."""
        return [f"{e.type}: {e.message}" for e in self.of("exception")]

    @property
    def alerts(self) -> list[str]:
        """Every message in a box: errors, warnings, remarks."""
        return [alert.body for alert in self.of("alert")]

    @property
    def titles(self) -> list[str]:
        """The headings of the first rank."""
        return [heading.body for heading in self.of("heading") if heading.tag == "h1"]


class Tab:
    """One person's tab on the app at `address`, opened with a link's query string."""

    def __init__(self, address: str, link: str = "", page: str = "") -> None:
        self.web, self.address = Web(address), address
        self.link, self.widgets, self.pages = link, Widgets(), dict[str, str]()
        self.lost = asyncio.Event()
        self.session = ""  # the server's name for it
        self._page, self._first_page = "", page
        self._socket: ClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None
        self._run = Run()
        self._done = asyncio.Event()
        self._has_begun = False  # the run that was asked for; what comes before is of another
        self._fragments: set[str] = set()  # that the last run drew; empty: the whole page
        self._timers: set[str] = set()  # fragments with a timer: not run here, but see `come_back`
        self._cached: OrderedDict[str, ForwardMsg] = OrderedDict()

    async def open(self) -> Run:
        """Visit the address, connect, and run the page. Raises `LostError` where it cannot."""
        try:
            await self.web.visit()
        except OSError as error:
            raise LostError(f"The page cannot be opened: {error}") from error
        await self.connect()
        return await self.rerun()

    async def connect(self) -> None:
        """The WebSocket, with the cookies, the XSRF token, and the session that was before."""
        cookies = self.web.cookies
        protocols = ["streamlit", cookies.get(XSRF) or "PLACEHOLDER_AUTH_TOKEN"]
        protocols += [self.session] if self.session else []
        try:
            self._socket = await connect(
                f"ws://{self.address}/_stcore/stream",
                subprotocols=protocols,  # type: ignore[arg-type]
                origin=f"http://{self.address}",  # type: ignore[arg-type]
                additional_headers={"Cookie": self.web.cookie} if cookies else None,
                max_size=None,
                ping_interval=None,  # the server sends them, and they are answered
                proxy=None,
            )
        except LOST as error:
            raise LostError(str(error)) from error
        self.lost.clear()
        self._reader = asyncio.create_task(self._read(self._socket))

    async def come_back(self) -> Run | None:
        """Connect again, as a browser does by itself; the run that follows, if one does."""
        was_running = not self._done.is_set()
        for pause in (*PAUSES, *[10.0] * 10):
            await asyncio.sleep(pause)
            if not await self.web.is_up():
                continue
            try:
                await self.connect()
            except LostError:
                continue
            if was_running or self._fragments or self._timers:
                return await self.rerun()
            return None
        raise LostError("The server did not come back.")

    @property
    def is_fragment_run(self) -> bool:
        """Whether the last run drew a part of the page only."""
        return bool(self._fragments)

    async def close(self) -> None:
        """Close the tab."""
        if self._reader:
            self._reader.cancel()
        if self._socket:
            await self._socket.close()

    def cut(self) -> None:
        """The network is gone, without a farewell."""
        if self._socket:
            self._socket.transport.abort()

    async def change(self, name: str, value: Value) -> Run:
        """Change the widget of that key or label."""
        self.widgets.set(name, value)
        return await self.rerun(self.widgets.fragment(name))

    async def press(self, name: str) -> Run:
        """Press the button of that key or label."""
        return await self.rerun(self.widgets.fragment(name), pressed=name)

    async def go(self, page: str) -> Run:
        """Choose a page in the menu, by its name."""
        self.link, self._page = "", self.pages[page]
        self.widgets.forget()
        return await self.rerun()

    async def rerun(self, fragment: str = "", pressed: str | None = None) -> Run:
        """Have the page run, and wait for the end of it. Raises `LostError`, `TimeoutError`."""
        await self.send(fragment, pressed)
        return await self.answer()

    async def send(self, fragment: str = "", pressed: str | None = None) -> None:
        """Ask for a run; `answer` waits for it. Raises `LostError`."""
        message = BackMsg()
        request = message.rerun_script
        request.query_string, request.page_script_hash = self.link, self._page
        if not self._page:
            request.page_name = self._first_page
        request.widget_states.CopyFrom(self.widgets.states(pressed))
        request.fragment_id = fragment
        request.cached_message_hashes.extend(self._cached)
        request.context_info.timezone = "UTC"
        request.context_info.locale = "en-US"
        request.context_info.url = f"http://{self.address}/"
        self._run, self._done, self._has_begun = Run(), asyncio.Event(), False
        await self._send(message)

    async def answer(self) -> Run:
        """The run that was asked for, when it is over."""
        run = self._run
        lost = asyncio.ensure_future(self.lost.wait())
        done = asyncio.ensure_future(self._done.wait())
        try:
            await asyncio.wait({lost, done}, timeout=PATIENCE, return_when="FIRST_COMPLETED")
        finally:
            lost.cancel()
            done.cancel()
        if self._done.is_set():
            return run
        if self.lost.is_set():
            raise LostError("The connection was lost.")
        raise TimeoutError("No answer came.")

    async def _send(self, message: BackMsg) -> None:
        try:
            assert self._socket is not None
            await self._socket.send(message.SerializeToString())
        except ConnectionClosed as error:
            raise LostError(str(error)) from error

    async def _read(self, socket: ClientConnection) -> None:
        try:
            async for data in socket:
                message = ForwardMsg.FromString(data)
                if message.WhichOneof("type") == "ref_hash":
                    message = self._cached[message.ref_hash]
                elif message.metadata.cacheable:
                    self._cached[message.hash] = message
                self._take(message)
        except ConnectionClosed:
            pass
        self.lost.set()

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "delta" and message.delta.HasField("new_element"):
            self._run.elements.append(message.delta.new_element)
            self.widgets.note(message.delta.new_element, message.delta.fragment_id)
        elif kind == "new_session":
            self._begin(message)
        elif kind == "page_info_changed":
            self.link = message.page_info_changed.query_string
        elif kind == "navigation":
            pages = message.navigation.app_pages
            self.pages = {page.page_name: page.page_script_hash for page in pages}
        elif kind == "auto_rerun":
            self._timers.add(message.auto_rerun.fragment_id)
        elif kind == "stop_auto_rerun":
            self._timers -= set(message.stop_auto_rerun.fragment_ids)
        elif kind == "script_finished" and self._has_begun and message.script_finished != AGAIN:
            self._finish(set(message.metadata.run.fragment_ids))

    def _begin(self, message: ForwardMsg) -> None:
        self._page = message.new_session.page_script_hash
        self.session = message.new_session.initialize.session_id
        self._has_begun = True
        self._run.elements.clear()  # a run that began anew draws all again

    def _finish(self, fragments: set[str]) -> None:
        self._fragments = fragments
        self.widgets.finished(fragments)
        while len(self._cached) > 8:
            self._cached.popitem(last=False)
        self._run.end = time.perf_counter()
        self._done.set()
