"""Damage to a store's file, done from outside while nobody has it open."""

import sqlite3
from contextlib import closing

PIECE = 24


def flip_one_byte_of(database, table, key_column, key):
    """One bit of one byte in the middle of a record's body, where the file has it; nothing else changes."""
    with closing(sqlite3.connect(database)) as connection:
        body = connection.execute(f"SELECT body FROM {table} WHERE {key_column} = ?", (key,)).fetchone()[0]
        connection.execute("PRAGMA journal_mode = DELETE")
    content = bytearray(database.read_bytes())
    # A piece that stands in the file once is this record's alone, on whichever page it lies.
    pieces = (body[at : at + PIECE] for at in range(len(body) - PIECE))
    mine = next(piece for piece in pieces if content.count(piece) == 1)
    content[content.index(mine) + PIECE // 2] ^= 1
    database.write_bytes(content)


def execute(database, *statements):
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
