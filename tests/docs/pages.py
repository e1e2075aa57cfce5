"""The pages of the documentation as a reader takes them: headings, table rows, code blocks, links."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MAP = DOCS / "README.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@cache
def text_of(path):
    return path.read_text()


def reference(name):
    return text_of(DOCS / "reference" / name)


def prose_of(text):
    """Without code blocks, whose brackets and hashes mean something else."""
    return FENCE.sub("", text)


def headings_of(text):
    return re.findall(r"^#+ (.+)$", prose_of(text), re.MULTILINE)


def rows_of(text):
    """Table rows as lists of cells."""
    lines = [line for line in prose_of(text).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def rows_by_name(text):
    """Rows whose first cell is code, by that code."""
    return {row[0].strip("`"): row for row in rows_of(text) if row[0].startswith("`")}


def anchors_of(text):
    """As hosts of Markdown make them from headings."""
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings_of(text)]
    return {heading.replace(" ", "-") for heading in plain}


def links_of(path):
    """Links to files and anchors of this tree, as (file, anchor)."""
    for target in LINK.findall(prose_of(text_of(path))):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        yield (path.parent / file).resolve() if file else path, anchor
