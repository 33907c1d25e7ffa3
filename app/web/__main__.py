"""The program of the web process, `python -P -m app.web HOST PORT`. `r4p serve` becomes it."""

import sys

from app.process_guard import hide_memory
from app.web.main import serve

if __name__ == "__main__":
    hide_memory()
    host, port = sys.argv[1:]
    serve(host, int(port))
