-- Scopes, the feed over them, and their history.

-- One row per aggregate. `revision` orders all commits of the store, so the feed is a walk over its index.
CREATE TABLE aggregate (
  kind     TEXT    NOT NULL,
  key      TEXT    NOT NULL,
  version  INTEGER NOT NULL,
  revision INTEGER NOT NULL UNIQUE,
  checksum INTEGER NOT NULL,
  body     BLOB    NOT NULL,
  PRIMARY KEY (kind, key)
);

-- One row per explained commit, under the commit's own revision.
CREATE TABLE history (
  revision INTEGER PRIMARY KEY,
  scope    TEXT    NOT NULL,
  at_ms    INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  body     BLOB    NOT NULL
);
CREATE INDEX history_by_scope ON history (scope, revision);

-- Which events a record tells of, and the status each is left in.
CREATE TABLE history_event (
  event_id TEXT    NOT NULL,
  revision INTEGER NOT NULL,
  status   TEXT,
  PRIMARY KEY (event_id, revision)
) WITHOUT ROWID;
CREATE INDEX history_event_by_status ON history_event (status, revision);

-- Its one row is the newest revision given out.
CREATE TABLE revision_counter (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  revision INTEGER NOT NULL
);
INSERT INTO revision_counter (only_row, revision) VALUES (1, 0);
