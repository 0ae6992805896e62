-- The database of one workspace. Truth is the event table; every other table is there for speed,
-- is written in the same transaction as the events it is read from, and could be made from them.

-- A conversation. Counters follow its requests' events.
CREATE TABLE session (
    n           INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    flow        TEXT    NOT NULL,
    user        TEXT    NOT NULL,
    project     TEXT,
    title       TEXT,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    requests    INTEGER NOT NULL DEFAULT 0,
    items       INTEGER NOT NULL DEFAULT 0,
    last_request INTEGER,
    forked_from TEXT
) STRICT;
CREATE INDEX session_by_time ON session (updated_at DESC, n DESC);

-- One execution of one action. `owner` names the lock file of the process that runs it.
CREATE TABLE request (
    n           INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    session     INTEGER NOT NULL REFERENCES session (n),
    flow        TEXT    NOT NULL,
    action      TEXT    NOT NULL,
    user        TEXT    NOT NULL,
    project     TEXT,
    status      TEXT    NOT NULL,
    owner       TEXT    NOT NULL,
    mock        TEXT,
    retry_of    TEXT,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    last_seq    INTEGER NOT NULL,
    error       TEXT
) STRICT;
CREATE INDEX request_by_session ON request (session, n);

-- The event log. `id` is the global order of commits; `body` is the kind's fields as JSON, with
-- values above 16 KiB moved to `payload`.
CREATE TABLE event (
    id      INTEGER PRIMARY KEY,
    request INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    path    TEXT,
    attempt INTEGER NOT NULL,
    body    TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_by_request ON event (request, seq);

-- Large values by content, compressed; each is here once however often it is logged.
CREATE TABLE payload (
    hash  BLOB    PRIMARY KEY,
    bytes INTEGER NOT NULL,
    body  BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

-- Every scope that has state, with its newest version. Never the state itself.
CREATE TABLE scope (
    n       INTEGER PRIMARY KEY,
    kind    TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    version INTEGER NOT NULL,
    UNIQUE (kind, id)
) STRICT;

-- Which scopes a request has touched or could see.
CREATE TABLE request_scope (
    request INTEGER NOT NULL,
    scope   INTEGER NOT NULL,
    PRIMARY KEY (request, scope)
) STRICT, WITHOUT ROWID;

-- The steps of a scope from version to version, in commit order. `event` is the event that put the
-- step in force; `operations` are the ids of the events that hold it (null: that event itself).
-- `keyframe` is the whole state after the step, taken when the deltas since the last one weigh as
-- much as the state, so that reading an instant is bounded and storage grows with what changed.
CREATE TABLE change (
    scope      INTEGER NOT NULL,
    event      INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    operations TEXT,
    keyframe   TEXT,
    PRIMARY KEY (scope, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX change_keyframes ON change (scope, event) WHERE keyframe IS NOT NULL;

-- Running totals, one row.
CREATE TABLE total (
    events               INTEGER NOT NULL,
    items                INTEGER NOT NULL,
    payload_bytes        INTEGER NOT NULL,
    unique_payload_bytes INTEGER NOT NULL
) STRICT;
INSERT INTO total VALUES (0, 0, 0, 0);
