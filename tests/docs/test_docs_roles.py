"""The role that each route needs, on the reference page as in the program."""

from pages import reference, rows_of

from declared_roles import routes_of_the_app

TABLE = reference("control-api.md").partition("## Roles")[2].partition("\n## ")[0]


def test_the_role_of_each_route_is_in_the_table():
    """Issue: every route says its role; the page says what the program does."""
    rows = {row[0].strip("`"): (row[1], row[2]) for row in rows_of(TABLE) if row[0].startswith("`")}
    declared = {
        name: (str(needs[0].role), "closed" if needs[0].fleet_wide else "its scopes alone")
        for name, needs, _ in routes_of_the_app()
        if needs
    }

    assert rows == declared
