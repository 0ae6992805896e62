-- The database of one workspace.
--
-- The source of truth is `event`, with the large values of its bodies in `payload`. Every other table is derived
-- for speed: its rows are written in the same transaction as the events they follow from, and could be made from
-- them again; `check --data` compares. (Exceptions: `code`, `expectation`, `annotation`, `session_annotation`, and some
-- rows of `keyframe`, see there.) Only a keyframe holds a whole state.
--
-- `n` is the number of a row inside this file. `id`, where a table has both, is what the rest of the program uses.

-- The database itself, one row. Its id is part of the names of its requests' owners, so that an imported request
-- can be told from one that ran here.
CREATE TABLE database (
    id TEXT NOT NULL
) STRICT;
INSERT INTO database VALUES (lower(hex(randomblob(8))));

-- The code of every bundle that ran, once by the hash of the bundle: the author's files and the source map, as
-- JSON. As in the bodies of events, large values are in `payload`.
CREATE TABLE code (
    hash TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A conversation. Its counters are derived from the events of its requests. The session of a fork also shows the
-- requests that precede request `forked_from` in the session of that request. `flow_title` is what its flow named it,
-- and `given_title` what a person did, from the newest such row of `session_annotation`.
CREATE TABLE session (
    n            INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    flow         TEXT    NOT NULL,
    user         TEXT    NOT NULL,
    project      TEXT,
    flow_title   TEXT,
    ephemeral    INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    requests     INTEGER NOT NULL DEFAULT 0,
    items        INTEGER NOT NULL DEFAULT 0,
    last_request INTEGER,
    forked_from  TEXT,
    given_title  TEXT
) STRICT;
CREATE INDEX session_by_time ON session (updated_at DESC, n DESC);
CREATE INDEX session_by_user ON session (user);
CREATE INDEX session_by_project ON session (project) WHERE project IS NOT NULL;
CREATE INDEX session_by_fork ON session (forked_from) WHERE forked_from IS NOT NULL;

-- One execution of one action. `owner` names the job that runs it, `epoch` counts its owners from 1: an append
-- under another owner or epoch is refused. At most one request in progress holds the key `claim`. A fork has copies
-- of the events 2 to `forked_at` of request `forked_from` and continues after them. `unindexed_from` is the `seq` of
-- its first event that no filter block covers, NULL if all are covered. `words` are the first words of its input, see
-- `row/input_words.rs`, and `tokens` the sum of its rows in `model_usage`. `title` is what a person named it, from the
-- newest such row of `annotation`.
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
    epoch       INTEGER NOT NULL DEFAULT 1,
    words       TEXT,
    tokens      INTEGER NOT NULL DEFAULT 0,
    title       TEXT,
    emitter     TEXT
) STRICT;
CREATE INDEX request_by_session ON request (session, n);
-- By what lists of requests are ordered, see `read/run_order.rs`: by text with the newest first, by numbers one way.
-- `request_by_tokens` is no such order, because lists count what a request paid for itself. It is the smallest index, so
-- it is read if the numbers of all requests are needed.
CREATE INDEX request_by_start ON request (started_at, n);
CREATE INDEX request_by_status ON request (status, started_at DESC, n DESC);
CREATE INDEX request_by_flow ON request (flow, action, started_at DESC, n DESC);
CREATE INDEX request_by_label ON request (lower(coalesce(title, words)), started_at DESC, n DESC);
CREATE INDEX request_by_user ON request (user, started_at DESC, n DESC);
CREATE INDEX request_by_duration ON request (max(finished_at - started_at, 0), n);
CREATE INDEX request_by_tokens ON request (tokens, n);
CREATE INDEX request_by_project ON request (project) WHERE project IS NOT NULL;
CREATE INDEX request_by_claim ON request (claim, n)
    WHERE claim IS NOT NULL AND status IN ('queued', 'in_progress');
CREATE INDEX request_unindexed ON request (n) WHERE unindexed_from IS NOT NULL;

-- What a request is expected to do by code that differs from the code that ran, where a person has accepted that: JSON,
-- only what is not as the events say. `at` is when it was accepted, in milliseconds. Not derived from events.
CREATE TABLE expectation (
    request INTEGER NOT NULL PRIMARY KEY,
    at      INTEGER NOT NULL,
    body    TEXT    NOT NULL
) STRICT;

-- What people add to requests: tags, notes and titles. Rows are only added; of a note, a title and each tag the row
-- with the highest `n` counts. `kind` is `tag_added`, `tag_removed`, `note` or `title`; an empty note or title is none.
-- `by` is who, if that is known, and `at` when, in milliseconds since 1970. Not derived from events, and no event names
-- them.
CREATE TABLE annotation (
    n       INTEGER PRIMARY KEY,
    request INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    by      TEXT,
    kind    TEXT    NOT NULL,
    value   TEXT    NOT NULL
) STRICT;
CREATE INDEX annotation_by_request ON annotation (request, kind, n);

-- The tags that requests have, derived from `annotation`.
CREATE TABLE tag (
    name    TEXT    NOT NULL,
    request INTEGER NOT NULL,
    PRIMARY KEY (name, request)
) STRICT, WITHOUT ROWID;
CREATE INDEX tag_by_request ON tag (request, name);

-- The same of sessions.
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
CREATE INDEX tag_by_session ON session_tag (session, name);

-- The models that were called: the name that a flow asked for, and the one that the provider answered with.
CREATE TABLE model (
    n        INTEGER PRIMARY KEY,
    asked    TEXT NOT NULL,
    answered TEXT NOT NULL,
    UNIQUE (asked, answered)
) STRICT;

-- What requests used of models, see `row/model_usage.rs`. `paid_by` is 0 for the calls that the request made itself, 1
-- for those that a fork has in common with its origin, and 2 for answers that a sample of an experiment shares with
-- another one, which paid for them. `counted` is how many of the calls say what they used, and `cached` a part of `input`, in tokens.
CREATE TABLE model_usage (
    request   INTEGER NOT NULL,
    model     INTEGER NOT NULL,
    paid_by   INTEGER NOT NULL,
    calls     INTEGER NOT NULL,
    counted   INTEGER NOT NULL,
    input     INTEGER NOT NULL,
    cached    INTEGER NOT NULL,
    output    INTEGER NOT NULL,
    PRIMARY KEY (request, model, paid_by)
) STRICT, WITHOUT ROWID;

-- Forks that were made to compare them. `body` is JSON: what the experiment varies. Requests are named by their ids,
-- because somebody may delete them. The samples of `experiment` 0 and `arm` 0 are forks of searches for a culprit; under
-- `experiment` 0 and the number of an experiment as `arm`, `score` is what that has spent. Not derived from events.
CREATE TABLE experiment (
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
) STRICT, WITHOUT ROWID;
-- Lists leave samples out.
CREATE INDEX sample_by_request ON sample (request);

-- Logical paths of blocks, each once: all requests of a flow use the same ones.
CREATE TABLE path (
    n    INTEGER PRIMARY KEY,
    text TEXT    NOT NULL UNIQUE
) STRICT;

-- The event log. `id` is global and ascends in the order of commits; `seq` counts the events of one request from 1.
-- `at` is in milliseconds since 1970. `body` holds the fields of the kind as JSON; instead of a large value it has
-- a reference to `payload`, see `row/body.rs`. `body_checksum` is that of `body`, the first 32 bits of its BLAKE3 hash;
-- NULL for events of no request. Those (`request` is 0) are of kind `records_imported`: one before and one
-- after the events that an import brought.
CREATE TABLE event (
    id      INTEGER PRIMARY KEY,
    request INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    path    INTEGER,
    attempt INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    body_checksum INTEGER
) STRICT;
CREATE UNIQUE INDEX event_by_seq ON event (request, seq);
CREATE INDEX event_suspended ON event (request, seq) WHERE kind = 'suspended';

-- Large values, each stored once under the BLAKE3 hash of its JSON. `bytes` is the length of the JSON; a `body` of
-- that length is the JSON itself, a shorter one is compressed with zstd.
CREATE TABLE payload (
    n     INTEGER PRIMARY KEY,
    hash  BLOB    NOT NULL UNIQUE,
    bytes INTEGER NOT NULL,
    body  BLOB    NOT NULL
) STRICT;

-- For search: a filter over the trigrams in the texts of a request's events `first` to `last` (`seq`). It has no
-- false negatives: a text that does not match is in none of these events.
CREATE TABLE filter_block (
    n       INTEGER PRIMARY KEY,
    request INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    trigram_filter BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX filter_block_by_request ON filter_block (request, first);

-- The structure of a request: what its events `first` to `last` say of the executions of its blocks, without values,
-- see `row/span_page.rs`. There is one for each filter block, over the same events. `numbered` is how many items the
-- request's events up to `last` number, unless one of them repeats what was an item already (`has_repeats`).
CREATE TABLE span_page (
    request INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    numbered INTEGER NOT NULL,
    has_repeats INTEGER NOT NULL,
    body    BLOB    NOT NULL,
    PRIMARY KEY (request, first)
) STRICT, WITHOUT ROWID;

-- Which of a page's events are those of a path: their `seq`, see `row/span_page.rs`. `path` is 0 for those of no block.
CREATE TABLE path_event (
    request INTEGER NOT NULL,
    path    INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    seqs    BLOB    NOT NULL,
    PRIMARY KEY (request, path, first)
) STRICT, WITHOUT ROWID;

-- Every scope that has or had state. `version` is its newest version, and `last` the id of the event that made it.
-- `request` is set for scopes that belong to one request; for these, `version` and `last` are not kept up to date,
-- and readers take them from the newest row of `change`.
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

-- The changes of a scope in the order they took effect. `event` is the id of the event that made the change
-- effective. If `operations` is NULL, that event is the operation itself. Otherwise it is a commit, or an operation
-- whose callback has returned, and `operations` lists the events that hold the operations, in the order of their
-- application, by how many `seq` they precede `event`: '2,1' is the two events before it, '0' is `event` itself, and
-- '' is none (the change is superseded). `bytes` is the length of the operations' values as JSON.
CREATE TABLE change (
    scope      INTEGER NOT NULL,
    event      INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    operations TEXT,
    PRIMARY KEY (scope, event)
) STRICT, WITHOUT ROWID;

-- The whole state of a scope just after an event. One is written when the changes since the previous one cost as
-- much to read as the state itself, so that the cost of reading a state is bounded. `bytes` is the length of the
-- state as JSON; in `body`, as in the bodies of events, large values are references to `payload`.
--
-- Such a keyframe can be made again from the changes. Two kinds cannot, and must not be deleted while the scope
-- exists; no change leads from the state before them to theirs:
-- - One with `tombstone` = 1 replaces changes whose events were deleted with their session. It has the state that
--   the deleted changes led to, and the changes after it apply to that state.
-- - One at an event of no request (`event.request` = 0) holds the state that an import puts in force there.
CREATE TABLE keyframe (
    scope   INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    version INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    tombstone INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, event)
) STRICT, WITHOUT ROWID;

-- Rolled-back attempts: from `event` on, what (`path`, `attempt`) wrote to a scope of its request does not count.
-- `first` is the event of its first write there. A keyframe from `first` up to, not including, `event` holds the
-- writes, so it is not used for states as of `event` or later.
CREATE TABLE attempt_rollback (
    scope   INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    path    INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    PRIMARY KEY (scope, event, path, attempt)
) STRICT, WITHOUT ROWID;

-- The queues of requests that wait to write records which others write at the same time, first the lowest `n`. A
-- request has the same `n` in all the queues it is in. `at` is when it took or renewed the ticket, in milliseconds.
-- Not derived from events; the rows are deleted with the write.
CREATE TABLE ticket (
    kind    TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    n       INTEGER NOT NULL,
    request INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (kind, id, n)
) STRICT, WITHOUT ROWID;

-- The events that hold a session's journal entries and what was set of its metadata.
CREATE TABLE journal (
    session INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    PRIMARY KEY (session, event)
) STRICT, WITHOUT ROWID;

-- Running totals, one row. They count the events that filter blocks cover; a reader adds the few that are not
-- covered yet. `unique_payload_bytes` counts all rows of `payload` besides. New events get ids above `id_floor`, so
-- that ids of deleted or reserved events are not used again.
CREATE TABLE total (
    indexed_events       INTEGER NOT NULL,
    items                INTEGER NOT NULL,
    payload_bytes        INTEGER NOT NULL,
    unique_payload_bytes INTEGER NOT NULL,
    id_floor             INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO total VALUES (0, 0, 0, 0, 0);

-- The queue of rows to remove from other tables: what was deleted, or belongs to an import that has not finished.
-- No reader sees these rows, and their numbers are not used again while they are queued. `kind` says what `n`
-- numbers, see `transfer/removal.rs`. `import` is the name of the unfinished import, '' for none; `name` is the id of
-- a request; `last` depends on `kind`: the end of a range, a count of how often the row was queued, or the token of
-- the process that works on it.
CREATE TABLE removal (
    kind   TEXT    NOT NULL,
    n      INTEGER NOT NULL,
    import TEXT    NOT NULL DEFAULT '',
    name   TEXT,
    last   INTEGER,
    PRIMARY KEY (kind, n, import)
) STRICT, WITHOUT ROWID;

-- OpenTelemetry spans that were received, and that no request has yet: one row for each call of the receiver, in order
-- of arrival. `owner` is the job that received them. The rows are deleted once requests have their spans.
CREATE TABLE received (
    n     INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    body  BLOB NOT NULL
) STRICT;
