"""What the server does once."""

import socket

from attention_lab.ui.start import send_at_once


def test_connections_send_without_delay() -> None:
    """A socket as Streamlit makes it: without a protocol, so that asyncio takes it for no TCP."""
    with socket.socket(family=socket.AF_INET) as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        send_at_once()
        with socket.create_connection(server.getsockname()), server.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
