"""SQL by name: `queries.sql`, cut at its `-- name:` lines, read once."""

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

NAME_LINE = "-- name: "


def queries_in(text: str) -> Mapping[str, str]:
    """Each section's text under its name; what stands before the first name belongs to none."""
    _, *sections = ("\n" + text).split("\n" + NAME_LINE)
    named = (section.partition("\n") for section in sections)
    return MappingProxyType({name.strip(): sql.strip() for name, _, sql in named})


QUERIES = queries_in(files(__package__).joinpath("queries.sql").read_text(encoding="utf-8"))
