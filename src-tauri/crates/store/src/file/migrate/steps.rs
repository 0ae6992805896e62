//! The migrations that are written in SQL: what each format adds to the tables of the one before.

/// The migration at index `n` takes format `n + 1` to `n + 2`. One that was released never changes.
pub(crate) const MIGRATIONS: &[&str] = &[
    "ALTER TABLE request ADD COLUMN claim TEXT;
     CREATE INDEX request_by_claim ON request (claim, n)
         WHERE claim IS NOT NULL AND status IN ('queued', 'in_progress');",
    "CREATE INDEX event_suspended ON event (request, seq) WHERE kind = 'suspended';
     ALTER TABLE request ADD COLUMN forked_from TEXT;
     ALTER TABLE request ADD COLUMN forked_at INTEGER;",
    // Events from before have no filter block (here `digest`): all are unindexed tail (`tail`) until format 5.
    "ALTER TABLE request ADD COLUMN tail INTEGER DEFAULT 1;
     CREATE INDEX request_by_tail ON request (n) WHERE tail IS NOT NULL;
     CREATE TABLE digest (
         n       INTEGER PRIMARY KEY,
         request INTEGER NOT NULL,
         first   INTEGER NOT NULL,
         last    INTEGER NOT NULL,
         grams   BLOB    NOT NULL
     ) STRICT;
     CREATE UNIQUE INDEX digest_by_request ON digest (request, first);
     ALTER TABLE keyframe ADD COLUMN stands_in INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE total ADD COLUMN floor INTEGER NOT NULL DEFAULT 0;",
    // From here on totals leave unindexed tails out. A process of an older version that has the file open must not go
    // on counting them: with the column renamed, its commits fail.
    "ALTER TABLE total RENAME COLUMN events TO covered",
    // New names for tables and columns; epochs, the database's id, stored code. Bodies follow in `upgrade_events`.
    "CREATE TABLE database (id TEXT NOT NULL) STRICT;
     INSERT INTO database VALUES (lower(hex(randomblob(8))));
     CREATE TABLE code (hash TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
     CREATE TABLE ticket (
         kind    TEXT    NOT NULL,
         id      TEXT    NOT NULL,
         n       INTEGER NOT NULL,
         request INTEGER NOT NULL,
         at      INTEGER NOT NULL,
         PRIMARY KEY (kind, id, n)
     ) STRICT, WITHOUT ROWID;
     ALTER TABLE request RENAME COLUMN tail TO unindexed_from;
     DROP INDEX request_by_tail;
     CREATE INDEX request_unindexed ON request (n) WHERE unindexed_from IS NOT NULL;
     ALTER TABLE request ADD COLUMN epoch INTEGER NOT NULL DEFAULT 1;
     ALTER TABLE digest RENAME TO filter_block;
     ALTER TABLE filter_block RENAME COLUMN grams TO trigrams;
     DROP INDEX digest_by_request;
     CREATE UNIQUE INDEX filter_block_by_request ON filter_block (request, first);
     ALTER TABLE withdrawal RENAME TO attempt_rollback;
     ALTER TABLE keyframe RENAME COLUMN stands_in TO tombstone;
     ALTER TABLE total RENAME COLUMN covered TO indexed_events;
     ALTER TABLE total RENAME COLUMN floor TO id_floor;
     UPDATE event SET kind = 'records_imported' WHERE request = 0;
     ALTER TABLE event ADD COLUMN sum INTEGER;
     CREATE TABLE removal (
         kind   TEXT    NOT NULL,
         n      INTEGER NOT NULL,
         import TEXT    NOT NULL DEFAULT '',
         name   TEXT,
         last   INTEGER,
         PRIMARY KEY (kind, n, import)
     ) STRICT, WITHOUT ROWID;",
    // The structure of requests. The rows follow in `span_page::add_missing`. A process of an older version that has
    // the file open must not go on making filters without pages: with the column renamed, they stay in the tail.
    "ALTER TABLE filter_block RENAME COLUMN trigrams TO trigram_filter;
     CREATE TABLE span_page (
         request INTEGER NOT NULL,
         first   INTEGER NOT NULL,
         last    INTEGER NOT NULL,
         numbered INTEGER NOT NULL,
         has_repeats INTEGER NOT NULL,
         body    BLOB    NOT NULL,
         PRIMARY KEY (request, first)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE path_event (
         request INTEGER NOT NULL,
         path    INTEGER NOT NULL,
         first   INTEGER NOT NULL,
         seqs    BLOB    NOT NULL,
         PRIMARY KEY (request, path, first)
     ) STRICT, WITHOUT ROWID;",
    // A resume keeps what had ended, and blocks go on as the same instance, which older versions do not know. A process
    // of an older version that has the file open must not go on writing: with the column renamed, its commits fail.
    // Pages of spans say more of `step_error` items: those that have one are made again by `span_page::add_missing`.
    "ALTER TABLE event RENAME COLUMN sum TO checksum;
     DELETE FROM span_page WHERE EXISTS (
         SELECT 1 FROM event e WHERE e.request = span_page.request AND e.seq BETWEEN span_page.first AND span_page.last
         AND e.kind = 'item_added' AND instr(e.body, 'step_error') > 0);
     DELETE FROM path_event WHERE NOT EXISTS (
         SELECT 1 FROM span_page s WHERE s.request = path_event.request AND s.first = path_event.first);",
    // What a person has accepted that a request does.
    "CREATE TABLE expectation (
         request INTEGER NOT NULL PRIMARY KEY,
         at      INTEGER NOT NULL,
         body    TEXT    NOT NULL
     ) STRICT;",
    // Experiments.
    "CREATE TABLE experiment (
         n       INTEGER PRIMARY KEY,
         id      TEXT    NOT NULL UNIQUE,
         request TEXT    NOT NULL,
         at      INTEGER NOT NULL,
         body    TEXT    NOT NULL
     ) STRICT;
     CREATE TABLE sample (
         experiment INTEGER NOT NULL,
         arm     INTEGER NOT NULL,
         number  INTEGER NOT NULL,
         request TEXT    NOT NULL,
         score   TEXT,
         PRIMARY KEY (experiment, arm, number)
     ) STRICT, WITHOUT ROWID;",
    // Tags, notes and titles; what lists of requests show and are ordered by. The values follow in `derive_lists`. A
    // process of an older version that has the file open must not go on writing requests without them: with the column
    // renamed, its commits fail.
    "ALTER TABLE event RENAME COLUMN checksum TO body_checksum;
     ALTER TABLE request ADD COLUMN words TEXT;
     ALTER TABLE request ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE request ADD COLUMN title TEXT;
     DROP INDEX request_by_user;
     CREATE INDEX request_by_start ON request (started_at, n);
     CREATE INDEX request_by_status ON request (status, started_at DESC, n DESC);
     CREATE INDEX request_by_flow ON request (flow, action, started_at DESC, n DESC);
     CREATE INDEX request_by_label ON request (lower(coalesce(title, words)), started_at DESC, n DESC);
     CREATE INDEX request_by_user ON request (user, started_at DESC, n DESC);
     CREATE INDEX request_by_duration ON request (max(finished_at - started_at, 0), n);
     CREATE INDEX request_by_tokens ON request (tokens, n);
     CREATE TABLE annotation (
         n       INTEGER PRIMARY KEY,
         request INTEGER NOT NULL,
         at      INTEGER NOT NULL,
         by      TEXT,
         kind    TEXT    NOT NULL,
         value   TEXT    NOT NULL
     ) STRICT;
     CREATE INDEX annotation_by_request ON annotation (request, kind, n);
     CREATE TABLE tag (
         name    TEXT    NOT NULL,
         request INTEGER NOT NULL,
         PRIMARY KEY (name, request)
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX tag_by_request ON tag (request, name);
     CREATE TABLE model (
         n        INTEGER PRIMARY KEY,
         asked    TEXT NOT NULL,
         answered TEXT NOT NULL,
         UNIQUE (asked, answered)
     ) STRICT;
     CREATE TABLE model_usage (
         request   INTEGER NOT NULL,
         model     INTEGER NOT NULL,
         is_copied INTEGER NOT NULL,
         calls     INTEGER NOT NULL,
         counted   INTEGER NOT NULL,
         input     INTEGER NOT NULL,
         cached    INTEGER NOT NULL,
         output    INTEGER NOT NULL,
         PRIMARY KEY (request, model, is_copied)
     ) STRICT, WITHOUT ROWID;",
    // Tags, notes and titles of sessions. A process of an older version that has the file open must not go on deleting
    // sessions without them: with the column renamed, its commits fail.
    "ALTER TABLE session RENAME COLUMN title TO flow_title;
     ALTER TABLE session ADD COLUMN given_title TEXT;
     CREATE INDEX session_by_fork ON session (forked_from) WHERE forked_from IS NOT NULL;
     CREATE TABLE session_annotation (
         n       INTEGER PRIMARY KEY,
         session INTEGER NOT NULL,
         at      INTEGER NOT NULL,
         by      TEXT,
         kind    TEXT    NOT NULL,
         value   TEXT    NOT NULL
     ) STRICT;
     CREATE INDEX annotation_by_session ON session_annotation (session, kind, n);
     CREATE TABLE session_tag (
         name    TEXT    NOT NULL,
         session INTEGER NOT NULL,
         PRIMARY KEY (name, session)
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX tag_by_session ON session_tag (session, name);",
    // Foreign requests.
    "ALTER TABLE request ADD COLUMN emitter TEXT;
     CREATE TABLE received (
         n     INTEGER PRIMARY KEY,
         owner TEXT NOT NULL,
         body  BLOB NOT NULL
     ) STRICT;",
    // Lists leave out samples of experiments, and who paid for a model call is known. The values follow in
    // `model_usage::derive_payers`. A process of an older version that has the file open must not go on writing rows
    // without it: with the column renamed, its commits fail.
    "CREATE INDEX sample_by_request ON sample (request);
     ALTER TABLE model_usage RENAME COLUMN is_copied TO paid_by;",
];
