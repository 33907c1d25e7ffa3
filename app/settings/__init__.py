"""Settings of two kinds: the operator's (environment variables) and a repository's (`.github/r4p.yml`).
No other room reads the environment. A missing or wrong value stops the process.
May call: learning (its types).
"""

from app.settings.engine_settings import AgentSettings, EngineSettings
from app.settings.environment import child_environment, plain_environment, python
from app.settings.github_settings import (
    BaseUrl,
    GitHubSettings,
    IdentitySettings,
    WebhookSettings,
    WriterSettings,
)
from app.settings.loader import (
    USAGE,
    Settings,
    SettingsError,
    check,
    known_names,
    load,
    mistakes,
    refuse,
)
from app.settings.runtime_settings import (
    BrokerSettings,
    ChildSettings,
    DatabaseSettings,
    LogSettings,
    QueueSettings,
)
from app.settings.training_settings import GateSettings, RunSettings, TrainSettings

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
