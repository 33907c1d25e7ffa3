"""Map file names to languages, grammars and the queries that find definitions."""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from posixpath import splitext
from typing import Final

from tree_sitter import Language, Parser, Query

from model.codegraph import tag_queries

_RULES: Final = 3
"""Version of the rules by which definitions are found.

Raise it when queries, ranges, signatures or the meaning of "broken" change. Then all files are read again.
"""


@dataclass(frozen=True, slots=True)
class Grammar:
    """A programming language with its tree-sitter grammar package and its query for definitions (`tags`).

    `entry` is the function of the package that returns the grammar.
    """

    language: str
    package: str
    tags: str
    entry: str = "language"

    @property
    def module(self) -> str:
        """The import name of the grammar package."""
        return self.package.replace("-", "_")


_PYTHON = Grammar("python", "tree-sitter-python", tags="")
"""Without a query: `definition_spans` finds Python's definitions by their keywords."""
_JAVASCRIPT = Grammar("javascript", "tree-sitter-javascript", tag_queries.JAVASCRIPT)
_TYPESCRIPT = "tree-sitter-typescript"
_CPP = Grammar("cpp", "tree-sitter-cpp", tag_queries.CPP)
"""C++ parses C too, except for C that uses a C++ keyword as a name. So it also reads headers."""

_BY_SUFFIX: Final = (
    {
        ".py": _PYTHON,
        ".pyi": _PYTHON,
        ".ts": Grammar("typescript", _TYPESCRIPT, tag_queries.TYPESCRIPT, "language_typescript"),
        ".mts": Grammar("typescript", _TYPESCRIPT, tag_queries.TYPESCRIPT, "language_typescript"),
        ".cts": Grammar("typescript", _TYPESCRIPT, tag_queries.TYPESCRIPT, "language_typescript"),
        ".tsx": Grammar("tsx", _TYPESCRIPT, tag_queries.TYPESCRIPT, "language_tsx"),
        ".java": Grammar("java", "tree-sitter-java", tag_queries.JAVA),
        ".go": Grammar("go", "tree-sitter-go", tag_queries.GO),
        ".rs": Grammar("rust", "tree-sitter-rust", tag_queries.RUST),
        ".c": Grammar("c", "tree-sitter-c", tag_queries.C),
    }
    | dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), _JAVASCRIPT)
    | dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".ipp", ".inl"), _CPP)
)
_BY_NAME: Final = {grammar.language: grammar for grammar in _BY_SUFFIX.values()}


def detect_language(path: str) -> str | None:
    """Return the programming language of a file by its suffix; None when it is not supported."""
    grammar = _BY_SUFFIX.get(splitext(path)[1].lower())
    return grammar.language if grammar else None


@cache
def get_edition(language: str) -> str | None:
    """Return the edition of a language: its name with the versions of its grammar and of this project's rules.

    It is None when the grammar is not installed. The definitions found in a file depend on its content and on the
    edition, so the index stores them under both.
    """
    from importlib.metadata import PackageNotFoundError, version

    grammar = _BY_NAME[language]
    try:
        import_module(grammar.module)
        return f"{language} {version(grammar.package)}/{_RULES}"
    except (ImportError, PackageNotFoundError):
        return None


def list_languages() -> list[str]:
    """Return the names of all programming languages that the code graph can parse, sorted."""
    return sorted(_BY_NAME)


def describe_missing_grammar(language: str) -> str:
    """Return a message that names the package to install for the grammar of a language."""
    return f"no grammar for {language}: pip install {_BY_NAME[language].package}"


def create_parser(language: str) -> Parser:
    """Create a tree-sitter parser for one thread. Raises ImportError when the language's grammar is not installed."""
    return Parser(_load_language(language))


@cache
def load_query(language: str) -> Query:
    """Load the tree-sitter query that finds a language's definitions.

    Raises ImportError when the language's grammar is not installed.
    """
    return Query(_load_language(language), _BY_NAME[language].tags)


@cache
def _load_language(language: str) -> Language:
    grammar = _BY_NAME[language]
    return Language(getattr(import_module(grammar.module), grammar.entry)())
