"""Which files are read in which language, and what counts as a definition there."""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from posixpath import splitext
from typing import Final

from tree_sitter import Language, Parser, Query

from model.codegraph import tag_queries

_RULES: Final = 3
"""Raise it when tags, ranges, signatures or what counts as broken change: what was read by older rules is read again."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """A language: the package of its grammar, and the query that finds definitions."""

    language: str
    package: str
    tags: str
    entry: str = "language"

    @property
    def module(self) -> str:
        """As it is imported."""
        return self.package.replace("-", "_")


_PYTHON = Grammar("python", "tree-sitter-python", tags="")
_JAVASCRIPT = Grammar("javascript", "tree-sitter-javascript", tag_queries.JAVASCRIPT)
_TYPESCRIPT = "tree-sitter-typescript"
_CPP = Grammar("cpp", "tree-sitter-cpp", tag_queries.CPP)
"""Reads C as well, but for C that takes a word of C++ for a name: so it reads headers, which don't say what they are."""

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


def language_of(path: str) -> str | None:
    """The language of a file, by its name; None: none that is known."""
    grammar = _BY_SUFFIX.get(splitext(path)[1].lower())
    return grammar.language if grammar else None


@cache
def edition(language: str) -> str | None:
    """What an answer depends on beside the file's content; None: the grammar is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    grammar = _BY_NAME[language]
    try:
        import_module(grammar.module)
        return f"{language} {version(grammar.package)}/{_RULES}"
    except (ImportError, PackageNotFoundError):
        return None


def known() -> list[str]:
    """The languages that can be read."""
    return sorted(_BY_NAME)


def missing(language: str) -> str:
    """What to say where the grammar is not installed."""
    return f"no grammar for {language}: pip install {_BY_NAME[language].package}"


def parser(language: str) -> Parser:
    """A parser of the language, for one thread. Raises ImportError where the grammar is not installed."""
    return Parser(_loaded(language))


@cache
def definitions(language: str) -> Query:
    """The language's query of definitions. Raises ImportError."""
    return Query(_loaded(language), _BY_NAME[language].tags)


@cache
def _loaded(language: str) -> Language:
    grammar = _BY_NAME[language]
    return Language(getattr(import_module(grammar.module), grammar.entry)())
