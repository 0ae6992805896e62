-- The tables of format 1, as they were. Only a test reads this file; it never changes.

CREATE TABLE session (
    n            INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    flow         TEXT    NOT NULL,
    user         TEXT    NOT NULL,
    project      TEXT,
    title        TEXT,
    ephemeral    INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    requests     INTEGER NOT NULL DEFAULT 0,
    items        INTEGER NOT NULL DEFAULT 0,
    last_request INTEGER,
    forked_from  TEXT
) STRICT;
CREATE INDEX session_by_time ON session (updated_at DESC, n DESC);
CREATE INDEX session_by_user ON session (user);
CREATE INDEX session_by_project ON session (project) WHERE project IS NOT NULL;

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
    error       TEXT
) STRICT;
CREATE INDEX request_by_session ON request (session, n);
CREATE INDEX request_by_user ON request (user);
CREATE INDEX request_by_project ON request (project) WHERE project IS NOT NULL;

CREATE TABLE path (
    n    INTEGER PRIMARY KEY,
    text TEXT    NOT NULL UNIQUE
) STRICT;

CREATE TABLE event (
    id      INTEGER PRIMARY KEY,
    request INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    path    INTEGER,
    attempt INTEGER NOT NULL,
    body    TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_by_seq ON event (request, seq);

CREATE TABLE payload (
    n     INTEGER PRIMARY KEY,
    hash  BLOB    NOT NULL UNIQUE,
    bytes INTEGER NOT NULL,
    body  BLOB    NOT NULL
) STRICT;

CREATE TABLE scope (
    n       INTEGER PRIMARY KEY,
    kind    TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    request INTEGER,
    version INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    UNIQUE (kind, id)
) STRICT;
CREATE INDEX scope_by_request ON scope (request) WHERE request IS NOT NULL;

CREATE TABLE change (
    scope      INTEGER NOT NULL,
    event      INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    operations TEXT,
    PRIMARY KEY (scope, event)
) STRICT, WITHOUT ROWID;

CREATE TABLE keyframe (
    scope   INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    version INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (scope, event)
) STRICT, WITHOUT ROWID;

CREATE TABLE withdrawal (
    scope   INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    path    INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    PRIMARY KEY (scope, event, path, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE journal (
    session INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    PRIMARY KEY (session, event)
) STRICT, WITHOUT ROWID;

CREATE TABLE total (
    events               INTEGER NOT NULL,
    items                INTEGER NOT NULL,
    payload_bytes        INTEGER NOT NULL,
    unique_payload_bytes INTEGER NOT NULL
) STRICT;
INSERT INTO total VALUES (0, 0, 0, 0);
