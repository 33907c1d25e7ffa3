"""Run Celery's command on the bot's application: `python -P -m worker.celery_command worker|beat
…`.

Celery imports the application named by `-A` from the current folder first, even with `-P`. So this
module imports the application before Celery does, and Celery finds it in `sys.modules`.
"""

import sys
from importlib import import_module
from typing import Final

from celery.__main__ import main

from app.process_guard import hide_memory

_APPLICATION: Final = "worker.celery_app"

if __name__ == "__main__":
    hide_memory()
    import_module(_APPLICATION)
    sys.argv[1:1] = ["-A", _APPLICATION, "--quiet"]
    main()
