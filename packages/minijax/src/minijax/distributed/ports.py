"""Ports on which process 0 serves: one held for it, or a check that the one given is free."""

import errno
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port(host: str = "127.0.0.1") -> Iterator[int]:
    """A port that the system gives to nobody else meanwhile, and on which process 0 may serve.

    A socket that does not listen holds it. Linux lets those share its port who ask for it by
    number and reuse addresses, as jaxlib's service does; other systems do not, and there the port
    is only one that was free a moment ago.
    """
    with _bound(host, 0) as holder:
        port: int = holder.getsockname()[1]
        if sys.platform != "linux":
            holder.close()
        yield port


def require_free(host: str, port: int) -> None:
    """Raise a RuntimeError if the port is taken; jaxlib would share it with another service."""
    hosts = ("::", "0.0.0.0") if host == "::" else (host,)  # there may be no IPv6
    for each in hosts:
        try:
            _bound(each, port).close()
        except OSError as error:
            if error.errno != errno.EADDRINUSE and each != hosts[-1]:
                continue
            raise RuntimeError(
                f"distributed.initialize: process 0 cannot serve at {host}, port {port}: "
                f"{error.strerror}. Choose another address or port for it, or end the program that "
                "uses this one"
            ) from None


def _bound(host: str, port: int) -> socket.socket:
    """A socket at a port, which does not listen; at any free one for 0."""
    family, kind, protocol, _, where = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    found = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # connections of a service that has just ended do not matter
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(where)
    except OSError:
        found.close()
        raise
    return found
