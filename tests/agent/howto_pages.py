"""The how-to pages of the agent, taken at their word: the files they print are what the tests install.

A block is a file when `<!-- file: NAME -->` stands before it. NAME is beside agent.toml, and executable unless it has an ending.
"""

import re
from pathlib import Path

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
BLOCK = re.compile(r"<!-- file: (\S+) -->\n```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HEAD = """
[agent]
state = "state"
stop_grace_s = 5
"""


def files_of(page):
    return {name: text for name, _, text in BLOCK.findall((HOW_TO / page).read_text())}


def pages():
    """Those that print settings."""
    return [page.name for page in sorted(HOW_TO.glob("agent*.md")) if "agent.toml" in files_of(page.name)]


def install(page, place, replaced=None):
    """As its reader does: the page's files beside each other, with names of one's own put in."""
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files_of(page).items():
        file = place / name
        file.write_text(swapped(HEAD + text if name.endswith(".toml") else text, replaced or {}))
        if not file.suffix:
            file.chmod(0o755)
    return place


def swapped(text, replaced):
    """All at once, so that what is put in is not replaced again."""
    if not replaced:
        return text
    return re.sub("|".join(map(re.escape, replaced)), lambda found: replaced[found[0]], text)
