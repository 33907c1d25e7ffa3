"""Write the example of `deploy/settings.env`: every setting that neither Compose, systemd nor the chart gives by itself."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

from deploy.reference.settings import list_settings

COMPOSE: Final = Path(__file__).parents[1] / "compose.yaml"
NOT_HERE: Final = {
    "R4P_END_WITH_PARENT": "`r4p up` sets it for its children",
    "R4P_ENGINE_SCRIPT": "for tests",
    "R4P_PRIVATE_KEY": "a key travels as a file, R4P_PRIVATE_KEY_PATH",
    "R4P_WRITER_PRIVATE_KEY": "likewise",
}
"""Settings that no deployment passes on, and why."""
HEAD: Final = """\
# Settings of the bot that every process may know. `make docs` writes this example from the code.
# Copy it to settings.env, remove the # of a line and change its value: Compose reads deploy/settings.env, systemd
# /etc/r4p/settings.env, and the Helm chart takes the same names under `settings:`. Secrets do not belong here.
"""


def list_composed() -> set[str]:
    """The settings that the compose file itself gives to some process."""
    services = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"].values()
    given = {name for service in services for name in service.get("environment", {})}
    return {name for name in given if name.startswith("R4P_")}


def describe_environment() -> Iterator[str]:
    """The lines of the example. A required setting stands without a value and without #."""
    yield HEAD
    left_out = list_composed() | NOT_HERE.keys()
    for _, rows in list_settings():
        for name, form, default, meaning in rows:
            variable = name.strip("`")
            if variable not in left_out and "secret" not in form:
                yield _describe_variable(variable, form, default, meaning)


def _describe_variable(name: str, form: str, default: str, meaning: str) -> str:
    about = textwrap.fill(
        f"{meaning} ({form})".replace("`", ""), 118, initial_indent="# ", subsequent_indent="# "
    )
    if default == "required":
        return f"{about}\n{name}=\n"
    return f"{about}\n# {name}={default.strip('–').replace('`', '')}\n"
