"""Ports on which process 0 serves: a free one, or a check that the one given is free."""

import errno
import os
import random
import socket

# Below the ports that systems give to outgoing connections (from 32768 on Linux, from 49152 on
# others): such a connection could take a port between the choice and the use of it.
_PORTS = range(20000, 30000)


def free_port(host: str = "127.0.0.1") -> int:
    """A port that no program of this machine uses, nor gets by chance."""
    for port in random.SystemRandom().sample(_PORTS, 100):
        try:
            _bind(host, port)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
        else:
            return port
    raise OSError(f"found no free port at {host}, in 100 of {_PORTS.start} to {_PORTS.stop - 1}")


def require_free(host: str, port: int) -> None:
    """Raise a RuntimeError if the port is taken; jaxlib would share it with another service."""
    hosts = ("::", "0.0.0.0") if host == "::" else (host,)  # there may be no IPv6
    for each in hosts:
        try:
            _bind(each, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE and each != hosts[-1]:
                continue
            raise RuntimeError(
                f"distributed.initialize: process 0 cannot serve at {host}, port {port}: "
                f"{error.strerror}. Choose another address or port for it, or end the program that "
                "uses this one"
            ) from None


def _bind(host: str, port: int) -> None:
    """Take a port for a moment."""
    family, kind, protocol, _, where = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as attempt:
        if os.name == "posix":  # connections of a service that has just ended do not matter
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        attempt.bind(where)
