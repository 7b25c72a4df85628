"""The HTTP side of a tab: the requests before the WebSocket, with the cookies they bring."""

import asyncio
import re
from http.client import HTTPConnection, HTTPException, HTTPResponse
from http.cookies import SimpleCookie

_FILES = re.compile(r'(?:src|href)="\./(static/[^"]+|favicon[^"]+)"')
XSRF = "_streamlit_xsrf"


class Web:
    """One browser's requests to `address`, e.g. "127.0.0.1:8501"; cookies are kept and sent.

    The requests of a visit follow each other on one connection, which is kept open for them.
    """

    def __init__(self, address: str) -> None:
        self.cookies: dict[str, str] = {}
        self._connection = HTTPConnection(address, timeout=30)

    async def visit(self) -> None:
        """What a browser asks for before it connects. Raises `OSError` where the server fails."""
        page = (await self._get("/")).decode()
        for file in dict.fromkeys(_FILES.findall(page)):
            await self._get(f"/{file}")
        await self._get("/_stcore/health")
        await self._get("/_stcore/host-config")
        self._connection.close()

    async def is_up(self) -> bool:
        """Whether the server says that it is healthy."""
        try:
            await self._get("/_stcore/health")
        except OSError:
            return False
        self._connection.close()
        return True

    async def put(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        """Send a body; the status of the answer, 0 if the server hung up."""
        try:
            status, _body = await asyncio.to_thread(self._ask, "PUT", path, body, headers)
        except OSError:
            return 0
        self._connection.close()
        return status

    @property
    def cookie(self) -> str:
        """All cookies, as they are sent."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    async def _get(self, path: str) -> bytes:
        """The body of an answer. Raises `OSError` for a refusal, too."""
        status, body = await asyncio.to_thread(self._ask, "GET", path)
        if status >= 400:
            self._connection.close()
            raise OSError(f"{path} is answered with {status}.")
        return body

    def _ask(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        sent = (headers or {}) | ({"Cookie": self.cookie} if self.cookies else {})
        try:
            self._connection.request(method, path, body or None, sent)
            answer = self._connection.getresponse()
            self._keep_cookies(answer)
            return answer.status, answer.read()
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise OSError(f"{path} is not answered: {error!r}") from error

    def _keep_cookies(self, answer: HTTPResponse) -> None:
        for line in answer.headers.get_all("Set-Cookie", []):
            for name, morsel in SimpleCookie(line).items():
                self.cookies[name] = morsel.coded_value
