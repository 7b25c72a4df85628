"""The HTTP side of a tab: the requests before the WebSocket, with the cookies they bring."""

import asyncio
import re
import urllib.error
import urllib.request
from http.cookiejar import CookieJar

_FILES = re.compile(r'(?:src|href)="\./(static/[^"]+|favicon[^"]+)"')
XSRF = "_streamlit_xsrf"


class Web:
    """One browser's requests to `address`, e.g. "127.0.0.1:8501"; cookies are kept and sent."""

    def __init__(self, address: str) -> None:
        self.base = f"http://{address}"
        self.jar = CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    async def visit(self) -> None:
        """What a browser asks for before it connects. Raises `OSError` where the server fails."""
        page = (await self.get("/")).decode()
        for file in dict.fromkeys(_FILES.findall(page)):
            await self.get(f"/{file}")
        await self.get("/_stcore/health")
        await self.get("/_stcore/host-config")

    async def get(self, path: str) -> bytes:
        """The body of an answer. Raises `OSError` for a refusal, too."""
        return await asyncio.to_thread(self._get, path)

    async def is_up(self) -> bool:
        """Whether the server says that it is healthy."""
        try:
            await self.get("/_stcore/health")
        except OSError:
            return False
        return True

    async def put(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        """Send a body; the status of the answer, 0 if the server hung up."""
        return await asyncio.to_thread(self._put, path, body, headers)

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies by name."""
        return {cookie.name: cookie.value or "" for cookie in self.jar}

    def _get(self, path: str) -> bytes:
        with self._opener.open(self.base + path, timeout=10) as answer:
            body: bytes = answer.read()
        return body

    def _put(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        request = urllib.request.Request(self.base + path, data=body, headers=headers, method="PUT")
        try:
            with self._opener.open(request, timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0
