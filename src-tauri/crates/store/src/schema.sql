-- The database of one workspace.
--
-- Truth is `event` (with the values it keeps in `payload`). Every other table exists for speed: it
-- is written in the same transaction as the events it is read from, and could be made from them
-- again; `check --data` compares. No row holds a whole state except a keyframe.

-- The database itself, one row. Its id is in the names of the owners of its requests, so that what another
-- database brought can be told from what ran here.
CREATE TABLE database (
    id TEXT NOT NULL
) STRICT;
INSERT INTO database VALUES (lower(hex(randomblob(8))));

-- The code of every bundle that ran, once by the hash of the bundle: the author's files and the source map, as
-- JSON; like an event it keeps large values in `payload`.
CREATE TABLE code (
    hash TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A conversation. Its counters follow the events of its requests. A fork also has the requests
-- that came before request `forked_from` in the session of that one.
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

-- One execution of one action. `owner` names the job that runs it, `epoch` counts its owners: an append that
-- names another owner or epoch is refused. `claim` is a key that no two requests in progress have in common. A
-- fork goes on after event `forked_at` of request `forked_from`. `unindexed_from` is the first of its events that
-- no filter block covers, if there are any.
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
    error       TEXT,
    claim       TEXT,
    forked_from TEXT,
    forked_at   INTEGER,
    unindexed_from INTEGER DEFAULT 1,
    epoch       INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX request_by_session ON request (session, n);
CREATE INDEX request_by_user ON request (user);
CREATE INDEX request_by_project ON request (project) WHERE project IS NOT NULL;
CREATE INDEX request_by_claim ON request (claim, n)
    WHERE claim IS NOT NULL AND status IN ('queued', 'in_progress');
CREATE INDEX request_unindexed ON request (n) WHERE unindexed_from IS NOT NULL;

-- Logical paths, each once: every request of a flow walks the same ones.
CREATE TABLE path (
    n    INTEGER PRIMARY KEY,
    text TEXT    NOT NULL UNIQUE
) STRICT;

-- The event log. `id` is the order of commits across all requests. `body` holds the fields of the
-- kind as JSON; a value too large to sit in a line is a mark that names its content in `payload`.
-- `sum` is the checksum of `body`, 32 bits of BLAKE3; NULL where there is none to compare.
CREATE TABLE event (
    id      INTEGER PRIMARY KEY,
    request INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    path    INTEGER,
    attempt INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    sum     INTEGER
) STRICT;
CREATE UNIQUE INDEX event_by_seq ON event (request, seq);
CREATE INDEX event_suspended ON event (request, seq) WHERE kind = 'suspended';

-- Large values by content (BLAKE3), once however often they are logged. `bytes` is the length of
-- the JSON; a body as long as that is not compressed, every other is zstd.
CREATE TABLE payload (
    n     INTEGER PRIMARY KEY,
    hash  BLOB    NOT NULL UNIQUE,
    bytes INTEGER NOT NULL,
    body  BLOB    NOT NULL
) STRICT;

-- Where a text cannot be: for every run of a request's events, a filter over the trigrams of their texts.
CREATE TABLE filter_block (
    n       INTEGER PRIMARY KEY,
    request INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    trigrams BLOB   NOT NULL
) STRICT;
CREATE UNIQUE INDEX filter_block_by_request ON filter_block (request, first);

-- Every scope that has state: its newest version, and the event that made it. `request` is set for
-- the scopes that live in one request; their newest step tells both, and the row is not kept up to date.
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

-- The steps of a scope in the order they came into force. `event` put the step in force: the
-- operation's own event where `operations` is null, else a commit that names the operations of its
-- request by how many `seq` they lie back, in order of application. `bytes` is what they weigh.
CREATE TABLE change (
    scope      INTEGER NOT NULL,
    event      INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    operations TEXT,
    PRIMARY KEY (scope, event)
) STRICT, WITHOUT ROWID;

-- The whole state just after an event, so that reading an instant costs a bounded number of steps.
-- One is written when the steps since the last cost as much to read as the state itself. `bytes`
-- is the length of the state as JSON; `body` keeps large values in `payload`, like an event. One at
-- an event of no request (`request` is 0) is no matter of speed: an import brought it, no steps lead
-- to it, and it must stay. So must a `tombstone`, which stands for events that were deleted with their session.
CREATE TABLE keyframe (
    scope   INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    version INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    tombstone INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, event)
) STRICT, WITHOUT ROWID;

-- Attempts whose writes to shared memory stopped counting: `event` rolled them back, `first` was the first of
-- them. A keyframe between the two still holds what was rolled back later.
CREATE TABLE attempt_rollback (
    scope   INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    path    INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    PRIMARY KEY (scope, event, path, attempt)
) STRICT, WITHOUT ROWID;

-- Who waits to write a record that other requests write at the same time, in the order of `n`: a request has one
-- number for all the records it waits for. No event tells of it, and it is gone with the write.
CREATE TABLE ticket (
    kind    TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    n       INTEGER NOT NULL,
    request INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (kind, id, n)
) STRICT, WITHOUT ROWID;

-- Where a session's journal and what was set of its metadata are.
CREATE TABLE journal (
    session INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    PRIMARY KEY (session, event)
) STRICT, WITHOUT ROWID;

-- Running totals, one row: of the events that filter blocks cover, and how many those are; the others are added
-- when they are read. No event gets an id up to `id_floor`: deleted ones had them.
CREATE TABLE total (
    indexed_events       INTEGER NOT NULL,
    items                INTEGER NOT NULL,
    payload_bytes        INTEGER NOT NULL,
    unique_payload_bytes INTEGER NOT NULL,
    id_floor             INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO total VALUES (0, 0, 0, 0, 0);

-- What is deleted, or was brought by an import that is not done, and lies in other tables still: nobody sees it,
-- and no number of it is given again. `kind` says what `n` is a number of, see `removal.rs`. `import` names the
-- import it belongs to, `name` is the id of a request, `last` the end of a range or a note of who is at it.
CREATE TABLE removal (
    kind   TEXT    NOT NULL,
    n      INTEGER NOT NULL,
    import TEXT    NOT NULL DEFAULT '',
    name   TEXT,
    last   INTEGER,
    PRIMARY KEY (kind, n, import)
) STRICT, WITHOUT ROWID;
