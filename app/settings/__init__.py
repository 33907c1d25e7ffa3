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
from app.settings.reading import SettingsError, check, load
from app.settings.running import (
    BrokerSettings,
    ChildSettings,
    DatabaseSettings,
    LogSettings,
    QueueSettings,
)
from app.settings.training import GateSettings, RunSettings, TrainSettings

__all__ = [
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
    "SettingsError",
    "TrainSettings",
    "WebhookSettings",
    "WriterSettings",
    "check",
    "child_environment",
    "load",
    "plain_environment",
    "python",
]
