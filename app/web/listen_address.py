"""The address on which a process listens."""

import errno
import socket
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from app.settings import refuse
from app.values.ports import LAST_PORT

_LOOPBACK: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (looked up, never opened)
"""For each host that means all addresses of this machine, the one that a browser on it can open."""
_FOREIGN: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
"""Errors for an address that this machine does not have."""
_OTHER_HOST: Final = "give a name or an address of this machine"


@dataclass(frozen=True, slots=True)
class Listen:
    """Host and port on which a process listens. Port 0 means any free port."""

    host: str = "127.0.0.1"
    port: int = 0
    names: tuple[str, str] = ("--host", "--port")
    """The options or settings of host and port, which messages name."""

    @property
    def url(self) -> str:
        """Return the base URL of the address. A literal address of IPv6 stands in brackets, as RFC 3986 demands."""
        return f"http://{self._place}"

    @property
    def local_url(self) -> str:
        """Return the base URL for a browser on this machine. `0.0.0.0` and `::` become the loopback address."""
        return replace(self, host=_LOOPBACK.get(self.host, self.host)).url

    @property
    def _place(self) -> str:
        host = self.host or "0.0.0.0"  # noqa: S104 (an empty host means all addresses)
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    def resolve_port(self) -> "Listen":
        """Return this address with a free port in place of port 0. Any other port stays as it is.

        The port was free a moment ago, but another process may take it. Raises SettingsError when port 0 of the host
        cannot be opened.
        """
        if self.port:
            return self
        with self.open_socket() as probe:
            return replace(self, port=int(probe.getsockname()[1]))

    def check(self) -> None:
        """Open the address and close it again, for a server that opens it later by itself.

        Another process may take the port in between. Raises SettingsError like `open_socket`.
        """
        self.open_socket().close()

    def open_socket(self) -> socket.socket:
        """Open a socket that takes connections. A name with addresses of both kinds is opened by IPv4.

        Raises SettingsError when the port is taken or no port, and when the host is no address of this machine.
        """
        host_name, port_name = self.names
        if not 0 <= self.port <= LAST_PORT:
            self._refuse(port_name, "no such port", f"give a port from 0 to {LAST_PORT}")
        try:
            family, place = self._resolve()
            return socket.create_server(place, family=family)
        except UnicodeError:  # of the codec `idna`, for a name that is too long
            self._refuse(host_name, "no name of a host", _OTHER_HOST)
        except OSError as error:
            # `create_server` repeats the address in its text.
            why = str(error.strerror).partition(" (while ")[0]
            if isinstance(error, socket.gaierror) or error.errno in _FOREIGN:
                self._refuse(host_name, why, _OTHER_HOST)
            self._refuse(port_name, why, "choose another")

    def _resolve(self) -> tuple[int, tuple[object, ...]]:
        """Return family and address of the socket. Raises OSError or UnicodeError for a name without an address."""
        addresses = socket.getaddrinfo(
            self.host or None, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, *_, place = min(addresses, key=lambda each: each[0] != socket.AF_INET)
        return family, place

    def _refuse(self, name: str, why: str, fix: str) -> NoReturn:
        refuse([f"{name}: can't listen on {self._place}: {why}: {fix}"])
