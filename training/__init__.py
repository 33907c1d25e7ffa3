"""Turn recorded outcomes into datasets, adapters, gate decisions and calibrators.

In: the bot's database, through `corpus`. Out: dataset folders, run folders and calibrators.
Calls `app` and `model`. Rooms call only lower rooms; pyproject.toml lists the layers.
"""
