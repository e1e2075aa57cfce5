"""Every link leads somewhere, and every page can be reached from the map."""

import pytest
from pages import DOCS, MAP, ROOT, anchors_of, links_of, text_of

PAGES = [*sorted(DOCS.rglob("*.md")), *sorted(ROOT.glob("*.md"))]


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_of_a_page_resolves(page):
    """Files exist; anchors are headings of the page they point into."""
    for file, anchor in links_of(page):
        assert file.exists(), f"{name_of(page)} -> {file}"
        if anchor:
            assert anchor in anchors_of(text_of(file)), f"{name_of(page)} -> {name_of(file)}#{anchor}"


def test_no_page_is_an_orphan():
    """Issue: the map leads to every page, perhaps over others."""
    reached, to_read = set(), [MAP]
    while to_read:
        page = to_read.pop()
        if page not in reached and page.suffix == ".md" and page.exists():
            reached.add(page)
            to_read += [file for file, _ in links_of(page)]

    assert set(DOCS.rglob("*.md")) <= reached


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_begins_with_its_title(page):
    assert text_of(page).startswith("# ")
