"""The address on which a process listens."""

import socket
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Listen:
    """Host and port on which a process listens. Port 0 means any free port."""

    host: str = "127.0.0.1"
    port: int = 0

    @property
    def url(self) -> str:
        """Base URL of the address. A literal address of IPv6 stands in brackets, as RFC 3986 demands."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def resolve_port(self) -> "Listen":
        """Return this address with a free port in place of port 0. Any other port stays as it is.

        The port was free a moment ago, but another process may take it.
        """
        if self.port:
            return self
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family) as probe:
            probe.bind((self.host, 0))
            return Listen(self.host, int(probe.getsockname()[1]))
