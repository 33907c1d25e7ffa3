"""The program of the web process, `python -P -m app.web HOST PORT`.

`r4p serve` replaces its own process with this program.
"""

import sys

from app.process_guard import hide_memory

if __name__ == "__main__":
    hide_memory()
    # This import takes seconds, in which any process of the same user could read the secrets of the environment.
    from app.web.main import serve

    host, port = sys.argv[1:]
    serve(host, int(port))
