"""The least that an index of definitions can be: `floor_codegraph.py DIR DATABASE`.

Two processes parse and run one query, one writes byte ranges into SQLite. Nothing is hashed, named
by what is around it, sorted out by kind, or survives a bad file. Prints seconds and entities.
"""

import json
import multiprocessing
import sqlite3
import sys
import time
from pathlib import Path

import tree_sitter_python
from tree_sitter import Language, Parser, Query, QueryCursor

LANGUAGE = Language(tree_sitter_python.language())
PARSER = Parser(LANGUAGE)
QUERY = Query(
    LANGUAGE,
    "(class_definition name: (identifier) @name) @class"
    " (function_definition name: (identifier) @name) @function",
)


def read(path):
    """Its path, and kind, name, lines and bytes of each definition."""
    content = Path(path).read_bytes()
    rows = []
    for _, found in QueryCursor(QUERY).matches(PARSER.parse(content).root_node):
        name = found["name"][0].text.decode(errors="replace")
        kind = "class" if "class" in found else "function"
        node = found[kind][0]
        lines = node.start_point[0] + 1, node.end_point[0] + 1
        rows.append((kind, name, *lines, node.start_byte, node.end_byte))
    return path, rows


def main(directory, database):
    """Index once."""
    started = time.perf_counter()
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")
    connection.execute("create table files (id integer primary key, path text)")
    connection.execute("create table entities (file, kind, name, line, last, start, stop)")
    connection.execute("begin")
    total = 0
    with multiprocessing.Pool(2) as pool:
        paths = [str(path) for path in Path(directory).rglob("*.py") if path.is_file()]
        for number, (path, rows) in enumerate(pool.imap_unordered(read, paths, chunksize=32)):
            connection.execute("insert into files values (?, ?)", (number, path))
            connection.executemany(
                f"insert into entities values ({number}, ?, ?, ?, ?, ?, ?)", rows
            )
            total += len(rows)
        connection.execute("create index by_name on entities (name)")
        connection.execute("commit")
        seconds = time.perf_counter() - started
        pool.close()
        pool.join()
    print(json.dumps({"seconds": seconds, "entities": total}))


if __name__ == "__main__":
    main(*sys.argv[1:])
