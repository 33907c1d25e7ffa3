"""A Markdown extension: a nested list or block needs two blanks of indentation, as on GitHub, and not four."""

from typing import Any

from markdown import Extension, Markdown


class ShortIndentation(Extension):
    """Sets the indentation of nested blocks."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the library's name
        """Set the indentation for every page."""
        md.tab_length = 2


def makeExtension(**options: Any) -> ShortIndentation:  # noqa: N802 - the library's name
    """Create the extension; Markdown calls this function by name."""
    return ShortIndentation(**options)
