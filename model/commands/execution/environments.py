"""`r4p environments` builds, lists and removes the virtual environments in which tests run."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from model.commands.exit_codes import Exit, exit_on_error, print_json, stop, warn
from model.commands.options import AsJson, CacheFolder, accept_options, open_cache
from model.commands.output import show_progress
from model.environments import build as building
from model.environments import tree_requirements
from model.environments.environment_cache import EnvironmentCache, TestEnvironment
from model.environments.recipe import EnvironmentRecipe, check_name, parse_environments
from model.environments.uv_process import PackageSources
from model.errors import BadRecipe, NoEnvironment
from model.prompts.untrusted import escape_invisible
from model.sandbox.walls import NoSandbox

_NAME = "environments"
_PYTHON = "3.11"
app = typer.Typer(
    help="Test environments: virtual environments in which tests run.", no_args_is_help=True
)


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """Options of `r4p environments build`."""

    name: Annotated[str | None, Argument(help="Name of the environment, for `r4p test`.")] = None
    requirement: Annotated[
        list[str] | None, Option(metavar="PACKAGE", help="A package, such as `pytest>=8`.")
    ] = None
    requirements_file: Annotated[
        list[Path] | None, Option(metavar="FILE", help="A requirement file of pip.")
    ] = None
    project: Annotated[
        Path | None,
        Option(metavar="DIR", help="Source tree whose pyproject.toml or setup.cfg names packages."),
    ] = None
    extra: Annotated[list[str] | None, Option(help="Extra or dependency group of the project.")] = (
        None
    )
    python: Annotated[
        str, Option(metavar="VERSION|FILE", help="An installed Python: version or path.")
    ] = _PYTHON
    exclude_newer: Annotated[
        str | None, Option(metavar="DATE", help="Take no release from this day on, as 2024-05-31.")
    ] = None
    from_source: Annotated[
        list[str] | None,
        Option(
            metavar="PACKAGE", help="Build this package from source, which runs its code. Repeat."
        ),
    ] = None
    recipes: Annotated[
        Path | None,
        Option(metavar="FILE", help="Build all of an `r4p.environments/1` file, as a gym has one."),
    ] = None
    allow_source_builds: Annotated[
        bool, Option("--allow-source-builds", help="Also what the recipes build from source.")
    ] = False
    index: Annotated[
        str | None, Option(metavar="URL", help="Package index, not the public one.")
    ] = None
    find_links: Annotated[
        list[Path] | None, Option(metavar="DIR", help="Folder with wheels. Repeat.")
    ] = None
    offline: Annotated[
        bool, Option("--offline", help="Use the folders of wheels only, without a network.")
    ] = False
    retry: Annotated[bool, Option("--retry", help="Try again what could not be built before.")] = (
        False
    )
    environments: CacheFolder = None
    json_output: AsJson = False

    def list_recipes(self) -> dict[str, EnvironmentRecipe]:
        """Return the recipes by name. Raises BadRecipe."""
        if (self.name is None) == (self.recipes is None):
            raise BadRecipe("name the environment, or a file by --recipes, and not both")
        if self.recipes is not None:
            self._refuse_parts_of_a_recipe()
            return self._read_recipes(self.recipes)
        version = building.ask_version(self.interpreter) if self.interpreter else self.python
        requirements = tuple(self._list_requirements())
        sources = tuple(self.from_source or ())
        recipe = EnvironmentRecipe(version, requirements, self.exclude_newer, sources)
        return {check_name(self.name or ""): recipe}

    @property
    def interpreter(self) -> Path | None:
        """The path of the Python; None where the option holds a version."""
        return Path(self.python) if "/" in self.python else None

    @property
    def sources(self) -> PackageSources:
        """Where packages come from. Raises BadRecipe."""
        folders = tuple(self.find_links or ())
        if missing := next((folder for folder in folders if not folder.is_dir()), None):
            raise BadRecipe(f"--find-links {missing} is no folder; name one with wheels")
        return PackageSources(self.index, folders, is_offline=self.offline)

    def _list_requirements(self) -> Iterator[str]:
        yield from self.requirement or ()
        for path in self.requirements_file or ():
            yield from tree_requirements.read_requirement_file(path)
        if self.project is not None:
            yield from tree_requirements.read_project_requirements(self.project, self.extra or ())
        elif self.extra:
            raise BadRecipe("--extra needs --project, the source tree that has this extra")

    def _refuse_parts_of_a_recipe(self) -> None:
        """Raise BadRecipe for an option that says what one recipe holds, beside a file that says it for each."""
        parts = ("requirement", "requirements_file", "project", "extra")
        given = [name for name in (*parts, "exclude_newer", "from_source") if getattr(self, name)]
        given += ["python"] if self.python != _PYTHON else []
        if given:
            option = given[0].replace("_", "-")
            raise BadRecipe(f"--{option} does nothing for --recipes, which holds it; leave it out")

    @staticmethod
    def _read_recipes(path: Path) -> dict[str, EnvironmentRecipe]:
        try:
            return parse_environments(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise BadRecipe(f"--recipes {path} can't be read: {error}") from error


@app.command()
@accept_options(BuildOptions)
def build(options: BuildOptions) -> None:
    """Build a test environment with uv, unless an equal one is there already.

    Packages come as wheels, and none of their code runs. `--from-source` lifts that for a package: its code then runs in
    a sandbox with a network.

    Exit codes: 0 built, 2 a requirement or an option is wrong, 5 at least one environment can't be built.
    """
    with exit_on_error(_NAME):
        recipes, sources = options.list_recipes(), options.sources
        with show_progress(len(recipes)) as (say, advance):
            names = tuple(_build_all(recipes, options, sources, say, advance))
    _show(open_cache(options.environments), names, as_json=options.json_output)
    if len(names) < len(recipes):
        raise typer.Exit(Exit.BACKEND_DOWN)


def _build_all(
    recipes: Mapping[str, EnvironmentRecipe],
    options: BuildOptions,
    sources: PackageSources,
    say: Callable[[str], None],
    advance: Callable[[int], None],
) -> Iterator[str]:
    """Yield the names of the environments that are there now, and tell why the others are not."""
    cache = open_cache(options.environments)
    for number, (name, recipe) in enumerate(recipes.items(), 1):
        say(name)
        try:
            environment = building.build_environment(
                recipe,
                cache.folder,
                sources=sources,
                interpreter=options.interpreter,
                allow_source_builds=options.allow_source_builds or bool(options.from_source),
                retry=options.retry,
            )
            cache.assign(name, environment)
            yield name
        except NoEnvironment as error:
            warn(_NAME, f"{name}: {error}")
        except NoSandbox as error:
            stop(_NAME, Exit.BACKEND_DOWN, str(error))
        advance(number)


@app.command("list")
def list_environments(*, environments: CacheFolder = None, json_output: AsJson = False) -> None:
    """List the test environments with their size and the number of their packages."""
    cache = open_cache(environments)
    _show(cache, tuple(cache.list_names()), as_json=json_output)


@app.command()
def remove(
    names: Annotated[list[str] | None, Argument(metavar="NAME...")] = None,
    *,
    unnamed: Annotated[
        bool, Option("--unnamed", help="Also those that no name leads to, as gyms leave them.")
    ] = False,
    environments: CacheFolder = None,
) -> None:
    """Remove test environments. A folder goes with the last name that leads to it."""
    cache = open_cache(environments)
    with exit_on_error(_NAME):
        if not names and not unnamed:
            raise BadRecipe("name an environment, or use --unnamed")
        for name in names or ():
            cache.remove(name)
        if unnamed:
            cache.remove_unnamed()


def _show(cache: EnvironmentCache, names: tuple[str, ...], *, as_json: bool) -> None:
    environments = {name: cache.find_name(name) for name in names}
    if as_json:
        items = [_describe(name, item) for name, item in environments.items()]
        print_json(
            {
                "schema": "r4p.environment-list/1",
                "folder": str(cache.folder),
                "environments": items,
            }
        )
        return
    table = Table("environment", "Python", "packages", "MB", "folder")
    for name, item in environments.items():
        if item is None:
            table.add_row(name, "–", "–", "–", Text("not whole: build it again"))
            continue
        version = item.interpreter.rpartition(" ")[2]
        row = (version, str(len(item.recipe.lock or ())), f"{item.bytes / 1e6:.0f}")
        table.add_row(name, *row, Text(escape_invisible(str(item.folder))))
    Console(highlight=False, markup=False, soft_wrap=True).print(table)


def _describe(name: str, environment: TestEnvironment | None) -> dict[str, Any]:
    if environment is None:
        return {"name": name, "folder": None}
    return {
        "name": name,
        "folder": str(environment.folder),
        "python": str(environment.python),
        "interpreter": environment.interpreter,
        "bytes": environment.bytes,
        "recipe": asdict(environment.recipe),
    }
