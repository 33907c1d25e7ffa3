"""Where the trees of the issues' projects come from: releases on the package index, the oldest first (pure).

An issue was fixed on a development branch, between two of these. Of series that were long in the making the first
test release is here as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Package:
    """A project as the package index knows it."""

    name: str
    listed: str
    licence: str

    @property
    def releases(self) -> tuple[str, ...]:
        """The oldest first."""
        return tuple(self.listed.split())


PACKAGES: Mapping[str, Package] = {
    "django/django": Package(
        "django",
        """1.10 1.11 2.0 2.1 2.2a1 2.2 3.0a1 3.0 3.1a1 3.1 3.2a1 3.2 4.0a1 4.0 4.1a1 4.1 4.2a1
            4.2 5.0a1 5.0 5.1a1""",
        "BSD-3-Clause",
    ),
    "matplotlib/matplotlib": Package(
        "matplotlib",
        """3.0.3 3.1.0 3.1.2 3.2.0 3.2.2 3.3.0 3.3.2 3.3.4 3.4.0 3.4.2 3.5.0 3.5.1 3.5.2 3.6.0 3.6.1 3.6.2 3.6.3
            3.7.0 3.7.1 3.7.2 3.8.0""",
        "PSF-like",
    ),
    "mwaskom/seaborn": Package(
        "seaborn", "0.11.0 0.11.1 0.11.2 0.12.0 0.12.1 0.12.2 0.13.0", "BSD-3-Clause"
    ),
    "pallets/flask": Package(
        "flask",
        "1.0 1.1.0 1.1.4 2.0.0 2.0.1 2.0.3 2.1.0 2.2.0 2.2.3 2.3.0",
        "BSD-3-Clause",
    ),
    "pydata/xarray": Package(
        "xarray",
        """0.11.3 0.12.1 0.12.3 0.13.0 0.14.0 0.14.1 0.15.0 0.15.1 0.16.0 0.16.1 0.16.2 0.17.0 0.18.0 0.19.0
            0.20.0 0.21.0 2022.3.0 2022.6.0 2022.9.0 2022.11.0""",
        "Apache-2.0",
    ),
    "sphinx-doc/sphinx": Package(
        "sphinx",
        """2.0.0 2.1.0 2.4.0 3.0.0 3.0.4 3.1.0 3.1.2 3.2.0 3.2.1 3.3.0 3.3.1 3.4.0 3.4.3 3.5.0 3.5.4 4.0.0 4.0.3
            4.1.0 4.1.2 4.2.0 4.3.0 4.4.0 4.5.0 5.0.0 5.0.2 5.1.0 5.2.0 5.3.0 6.1.3 7.0.0 7.1.0 7.1.2 7.2.0""",
        "BSD-2-Clause",
    ),
}
"""By `owner/name` of the data."""
