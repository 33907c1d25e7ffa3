"""Numbers of ports."""

from typing import Final

LAST_PORT: Final = 65_535
"""The largest number of a TCP port."""
