"""The recipe of a test environment: its packages, its Python and the date of the package index (pure).

A recipe may come from a stranger, with a repository or a gym. So it names packages and versions only: no URL, no path and
no option of an installer.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from model import typed_json
from model.errors import BadRecipe

SCHEMA: Final = "r4p.environments/1"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PYTHON: Final = re.compile(r"3\.\d{1,2}(\.\d{1,2})?")
_PINNED: Final = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?==[A-Za-z0-9.+!_-]+( --hash=sha256:[0-9a-f]{64})+"
)
_MOST_REQUIREMENTS: Final = 500
_MOST_LETTERS: Final = 300
"""Letters of one requirement."""
_MOST_RECIPES: Final = 10_000


@dataclass(frozen=True, slots=True)
class EnvironmentRecipe:
    """What a test environment holds. `parse_recipe` and `parse_environments` check it."""

    python: str
    """Version of a Python that is installed on the machine, such as `3.11`."""
    requirements: tuple[str, ...]
    """Packages with versions as in PEP 508, such as `pytest>=8`. No URLs and no paths."""
    exclude_newer: str | None = None
    """ISO date. Releases of packages from this day on do not exist for the environment."""
    source_builds: tuple[str, ...] = ()
    """Names of the packages that are built from source, which runs their own code. All others come as wheels."""
    lock: tuple[str, ...] | None = None
    """All packages with version and hashes, one a line; None before they are chosen."""

    @property
    def fingerprint(self) -> str:
        """A hash of the recipe: equal for recipes that ask for the same."""
        return _hash([self])


def parse_recipe(recipe: EnvironmentRecipe) -> EnvironmentRecipe:
    """Return the recipe in its canonical form, or raise BadRecipe with the value and the fix."""
    _require(_PYTHON.fullmatch(recipe.python), recipe.python, "Python", "a version such as 3.11")
    if recipe.exclude_newer is not None:
        _check_date(recipe.exclude_newer)
    if len(recipe.requirements) > _MOST_REQUIREMENTS:
        raise BadRecipe(
            f"a test environment has {len(recipe.requirements)} requirements; the most are {_MOST_REQUIREMENTS}"
        )
    for line in recipe.lock or ():
        _require(_PINNED.fullmatch(line), line, "locked package", "`name==version --hash=…`")
    return replace(
        recipe,
        requirements=tuple(sorted({_parse_requirement(text) for text in recipe.requirements})),
        source_builds=tuple(sorted({_parse_name(text) for text in recipe.source_builds})),
    )


def check_name(name: str) -> str:
    """Return the name of a test environment. Raises BadRecipe for one that is no good name of a file."""
    _require(_NAME.fullmatch(name), name, "name", "letters, digits, . _ and -")
    return name


def format_environments(environments: Mapping[str, EnvironmentRecipe]) -> str:
    """Return the `r4p.environments/1` document of recipes by name. Equal recipes give equal text."""
    recipes = {name: typed_json.dump(recipe) for name, recipe in environments.items()}
    document = {"schema": SCHEMA, "environments": recipes}
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def parse_environments(text: str) -> dict[str, EnvironmentRecipe]:
    """Return the recipes of a `r4p.environments/1` document by name. Raises BadRecipe."""
    try:
        recipes = {
            check_name(name): parse_recipe(typed_json.read(EnvironmentRecipe, item))
            for name, item in _get_items(json.loads(text)).items()
        }
    except (ValueError, TypeError, RecursionError) as error:
        raise BadRecipe(f"the recipes of environments can't be read: {error}") from error
    return recipes


def parse_lock(text: str) -> tuple[str, ...]:
    """Return the lines of a lock from the text that uv prints. Raises BadRecipe for anything but pinned packages."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = [" ".join(line.split()) for line in joined.splitlines()]
    lock = tuple(sorted(line for line in lines if line and not line.startswith("#")))
    for line in lock:
        _require(_PINNED.fullmatch(line), line, "locked package", "`name==version --hash=…`")
    return lock


def compute_digest(lock: Iterable[str], interpreter: str, source_builds: Iterable[str]) -> str:
    """Return the hash that names an environment's folder. `interpreter` is the path and version of its Python."""
    return _hash([list(lock), interpreter, list(source_builds)])


def _get_items(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f'the document has no "schema": "{SCHEMA}"')
    items = document.get("environments")
    if not isinstance(items, dict) or len(items) > _MOST_RECIPES:
        raise ValueError(f"`environments` is no object with at most {_MOST_RECIPES:,} recipes")
    return items


def _parse_requirement(text: str) -> str:
    try:
        requirement = Requirement(text[: _MOST_LETTERS + 1])
    except InvalidRequirement as error:
        raise BadRecipe(
            f"requirement {text[:100]!r} is no package with a version; write it as `pytest>=8`, without paths or options"
        ) from error
    if requirement.url:
        raise BadRecipe(
            f"requirement {text[:100]!r} names an address; name a package of the index and its version"
        )
    if len(text) > _MOST_LETTERS:
        raise BadRecipe(f"requirement {text[:100]!r}… has over {_MOST_LETTERS} letters; shorten it")
    return str(requirement)


def _parse_name(text: str) -> str:
    _require(_NAME.fullmatch(text), text, "source build", "a package's name")
    return str(canonicalize_name(text))


def _check_date(text: str) -> None:
    try:
        is_iso = date.fromisoformat(text).isoformat() == text
    except ValueError:
        is_iso = False
    _require(is_iso, text, "date", "a day such as 2024-05-31")


def _require(is_good: object, value: str, kind: str, form: str) -> None:
    if not is_good:
        raise BadRecipe(f"{kind} {value[:100]!r} of an environment cannot be used; write {form}")


def _hash(value: list[Any]) -> str:
    text = json.dumps(typed_json.dump(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]
