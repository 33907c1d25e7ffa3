"""Runs Celery's command on our application: `python -P -m worker.celery_command worker|beat …`.

Celery imports the application that `-A` names from the current folder first, whatever `-P` says. So we import the
application before Celery looks for it; Celery then takes it from `sys.modules`.
"""

import sys
from importlib import import_module
from typing import Final

from celery.__main__ import main

_APPLICATION: Final = "worker.celery_app"

if __name__ == "__main__":
    import_module(_APPLICATION)
    sys.argv[1:1] = ["-A", _APPLICATION, "--quiet"]
    main()
