-- Every query of the embedded store. A section begins at its name and ends at the next one.

-- name: current_version
SELECT version FROM aggregate WHERE kind = 'scope' AND key = :key

-- name: load_scope
SELECT key, version, revision, checksum, body FROM aggregate WHERE kind = 'scope' AND key = :key

-- name: scopes_after
-- The + keeps SQLite from sorting all scopes by revision for every read: the feed walks the index of revisions.
SELECT key, version, revision, checksum, body FROM aggregate
WHERE +kind = 'scope' AND revision > :after
ORDER BY revision LIMIT :limit

-- name: documents
-- By kind, never by the index of revisions: of one kind there are few, and every scope may have a later revision.
SELECT kind, key, version, revision, checksum, body FROM aggregate
WHERE kind = :kind AND +revision > :after ORDER BY key

-- name: document_version
SELECT version FROM aggregate WHERE kind = :kind AND key = :key

-- name: put_document
INSERT INTO aggregate (kind, key, version, revision, checksum, body)
VALUES (:kind, :key, :version, :revision, :checksum, :body)
ON CONFLICT (kind, key) DO UPDATE SET
  version = excluded.version, revision = excluded.revision, checksum = excluded.checksum, body = excluded.body

-- name: remove_document
DELETE FROM aggregate WHERE kind = :kind AND key = :key

-- name: current_revision
SELECT revision FROM revision_counter

-- name: count_revisions
UPDATE revision_counter SET revision = :revision

-- name: add_scope
INSERT INTO aggregate (kind, key, version, revision, checksum, body)
VALUES ('scope', :key, :version, :revision, :checksum, :body)
ON CONFLICT (kind, key) DO NOTHING

-- name: change_scope
UPDATE aggregate SET version = :version, revision = :revision, checksum = :checksum, body = :body
WHERE kind = 'scope' AND key = :key AND version = :version - 1

-- name: append_history
INSERT INTO history (revision, scope, at_ms, checksum, body) VALUES (:revision, :scope, :at_ms, :checksum, :body)

-- name: append_history_event
INSERT INTO history_event (event_id, revision, status) VALUES (:event_id, :revision, :status)

-- name: record_at
SELECT revision, scope, at_ms, checksum, body FROM history WHERE revision = :revision

-- name: retire_record
DELETE FROM history WHERE revision = :revision

-- name: retire_record_event
DELETE FROM history_event WHERE event_id = :event_id AND revision = :revision

-- The next ten are the parts of one query: the first, then the conditions asked for, then an order.

-- name: history
SELECT revision, scope, at_ms, checksum, body FROM history WHERE revision > :after

-- name: history_of_scope
AND scope = :scope

-- name: history_of_scopes
AND scope IN (SELECT value FROM json_each(:scopes))

-- name: history_before
AND revision < :before

-- name: history_since
AND at_ms >= :since_ms

-- name: history_until
AND at_ms <= :until_ms

-- name: history_of_event
AND revision IN (SELECT revision FROM history_event WHERE event_id = :event_id)

-- name: history_of_statuses
AND revision IN (
  SELECT revision FROM history_event WHERE status IN (SELECT value FROM json_each(:statuses)) AND revision > :after
)

-- name: history_of_event_and_statuses
AND revision IN (
  SELECT revision FROM history_event
  WHERE event_id = :event_id AND status IN (SELECT value FROM json_each(:statuses))
)

-- name: history_oldest
ORDER BY revision ASC LIMIT :limit

-- name: history_newest
ORDER BY revision DESC LIMIT :limit

-- name: data_version
PRAGMA data_version

-- The rest looks at everything there is, past the indexes, to see whether it is whole.

-- name: every_aggregate
SELECT kind, key, version, revision, checksum, body FROM aggregate NOT INDEXED ORDER BY rowid

-- name: every_record
SELECT revision, scope, at_ms, checksum, body FROM history NOT INDEXED ORDER BY rowid

-- name: status_in_record
SELECT status FROM history_event WHERE event_id = :event_id AND revision = :revision

-- name: statuses_in_records
SELECT count(*) FROM history_event

-- name: newest_revision_used
SELECT max(coalesce((SELECT max(revision) FROM aggregate), 0), coalesce((SELECT max(revision) FROM history), 0))

-- name: aggregates_integrity
PRAGMA integrity_check(aggregate)

-- name: integrity
PRAGMA integrity_check
