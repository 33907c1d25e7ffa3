"""The entities of one tree, by name."""

from model.codegraph.entities import Construct, Entity


class Snapshot:
    """One tree of an open index. Threads may share it."""

    def find(self, construct: Construct, name: str) -> tuple[Entity, ...]:
        """All entities of that simple name, by path and line."""
        raise NotImplementedError

    def near(self, construct: Construct, name: str, limit: int = 5) -> tuple[str, ...]:
        """Names that look like it, the likest first."""
        raise NotImplementedError

    def paths(self) -> tuple[str, ...]:
        """All paths of the tree, sorted, in whatever language."""
        raise NotImplementedError
