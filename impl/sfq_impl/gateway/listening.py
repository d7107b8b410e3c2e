"""The address for clients, taken before anything else is begun: where it cannot be had, nothing has been written."""

from __future__ import annotations

import errno
import os
import socket
import sys

BACKLOG = 2048
"""Connections that may wait to be accepted."""


class CannotListen(Exception):
    """The address cannot be had: why."""


def listen(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of a host, which takes connections from now on. Raises `CannotListen`."""
    sockets, missing = list[socket.socket](), ""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(found):
            try:
                sockets.append(_listening(family, address))
            except OSError as error:
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise
                missing = os.strerror(error.errno)  # a name may have addresses of a family that is switched off
    except (OSError, UnicodeError) as error:
        for each in sockets:
            each.close()
        raise CannotListen(getattr(error, "strerror", None) or str(error)) from None
    if not sockets:
        raise CannotListen(missing)
    return sockets


def _listening(family: int, address: tuple[object, ...]) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except BaseException:
        made.close()
        raise
    return made
