"""Settings of two kinds: the operator's (environment variables) and a repository's (`.github/r4p.yml`).
In: environment variables and the repository's file. Out: frozen settings, or a message that names value and fix.
No other room reads the environment. A missing or wrong value stops the process.
May call: learning (its types).
"""

from app.settings.engine_settings import AgentSettings, EngineSettings, SuiteSettings
from app.settings.environment import (
    build_child_environment,
    build_plain_environment,
    get_interpreter,
    set_environment,
)
from app.settings.github_settings import (
    AccountSettings,
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
    find_mistakes,
    list_known_names,
    list_mistakes,
    load,
    refuse,
)
from app.settings.pages_settings import PagesSettings
from app.settings.runtime_settings import (
    BrokerSettings,
    CeilingSettings,
    ChildSettings,
    DatabaseSettings,
    LogSettings,
    OperationsSettings,
    QueueSettings,
    RetentionSettings,
)
from app.settings.training_settings import GateSettings, RunSettings, TrainSettings
from app.settings.url_checks import BaseUrl, find_engine_mistake

__all__ = [
    "USAGE",
    "AccountSettings",
    "AgentSettings",
    "BaseUrl",
    "BrokerSettings",
    "CeilingSettings",
    "ChildSettings",
    "DatabaseSettings",
    "EngineSettings",
    "GateSettings",
    "GitHubSettings",
    "IdentitySettings",
    "LogSettings",
    "OperationsSettings",
    "PagesSettings",
    "QueueSettings",
    "RetentionSettings",
    "RunSettings",
    "Settings",
    "SettingsError",
    "SuiteSettings",
    "TrainSettings",
    "WebhookSettings",
    "WriterSettings",
    "build_child_environment",
    "build_plain_environment",
    "check",
    "find_engine_mistake",
    "find_mistakes",
    "get_interpreter",
    "list_known_names",
    "list_mistakes",
    "load",
    "refuse",
    "set_environment",
]
