"""The only reader of the environment: one frozen settings class per concern, so that a process asks
for no secret it does not need. A required value has no default and a wrong one stops the process.
"""

from app.settings.environment import child_environment, plain_environment, python
from app.settings.github import (
    BaseUrl,
    GitHubSettings,
    IdentitySettings,
    WebhookSettings,
    WriterSettings,
)
from app.settings.judging import AgentSettings, EngineSettings
from app.settings.reading import (
    USAGE,
    Settings,
    SettingsError,
    check,
    known_names,
    load,
    mistakes,
    refuse,
)
from app.settings.running import (
    BrokerSettings,
    ChildSettings,
    DatabaseSettings,
    LogSettings,
    QueueSettings,
)
from app.settings.training import GateSettings, RunSettings, TrainSettings

__all__ = [
    "USAGE",
    "AgentSettings",
    "BaseUrl",
    "BrokerSettings",
    "ChildSettings",
    "DatabaseSettings",
    "EngineSettings",
    "GateSettings",
    "GitHubSettings",
    "IdentitySettings",
    "LogSettings",
    "QueueSettings",
    "RunSettings",
    "Settings",
    "SettingsError",
    "TrainSettings",
    "WebhookSettings",
    "WriterSettings",
    "check",
    "child_environment",
    "known_names",
    "load",
    "mistakes",
    "plain_environment",
    "python",
    "refuse",
]
