-- The tables of the archive. All times are microseconds since 1970, UTC. Sort keys (`sort_key`, `top`, `bottom`) are stored
-- negated, so that the newest email has the smallest key: see listing/mod.rs.

-- The names of the members of an email's JSON in their order, as a JSON array. A service has one or two such orders.
CREATE TABLE key_order (
    key_order_id INTEGER PRIMARY KEY,
    keys TEXT NOT NULL UNIQUE
) STRICT;

-- One email as the service lists it, not sanitised. An ANY column holds a UUID as 16 bytes, a time in a usual form as a number,
-- and any other value as its text.
CREATE TABLE mail (
    sort_key INTEGER PRIMARY KEY,
    fts_rowid INTEGER,               -- rowid in `search`: a small number in the order of the sort keys
    id ANY NOT NULL,
    listed INTEGER NOT NULL,         -- 1 if a page within a covered range contained it
    status_seen_at INTEGER NOT NULL, -- when this last_event was first seen
    status_changes INTEGER NOT NULL, -- how often last_event was seen to change
    response_seq INTEGER NOT NULL,   -- number of the response that wrote this row last; 0 for an imported row
    confirmed_at INTEGER,            -- when a response that no confirmed run covers confirmed the row
    missing_since INTEGER,           -- when the service was found not to have it; unconfirmed while `listed` is 1
    key_order_id INTEGER NOT NULL REFERENCES key_order,
    created_at ANY,
    last_event TEXT,
    sender ANY,                      -- id of an interned value, or the text once there are too many of them
    recipients TEXT,
    subject TEXT,
    message_id ANY,
    cc TEXT,
    bcc TEXT,
    reply_to TEXT,
    scheduled_at TEXT,
    extra_json TEXT                  -- JSON object of the members that the columns cannot restore
) STRICT;
CREATE UNIQUE INDEX mail_ids ON mail (id);
-- Counting walks this index instead of the emails; search goes from a rowid to its email.
CREATE UNIQUE INDEX mail_by_fts_rowid ON mail (fts_rowid);
-- Few emails are missing upstream; a search finds them without the others.
CREATE INDEX mail_missing_upstream ON mail (sort_key) WHERE missing_since IS NOT NULL;
-- What has changed since a time is found without the other emails.
CREATE INDEX mail_status_changes ON mail (status_seen_at) WHERE status_changes > 0;

-- Emails that were retrieved, or were on a page without a known position: no listed page confirms them.
CREATE INDEX mail_unlisted ON mail (sort_key) WHERE listed = 0 AND missing_since IS NULL AND confirmed_at IS NOT NULL;

-- The response of the retrieve operation, deflated with a dictionary.
CREATE TABLE body (
    sort_key INTEGER PRIMARY KEY REFERENCES mail ON UPDATE CASCADE ON DELETE CASCADE,
    json BLOB NOT NULL,
    dictionary_id INTEGER REFERENCES dictionary  -- NULL: deflated without one
) STRICT;

-- Text that many emails share, for deflating bodies. It contains no word that only few emails contain.
CREATE TABLE dictionary (
    id INTEGER PRIMARY KEY,
    text BLOB NOT NULL
) STRICT;

-- The earlier values of last_event.
CREATE TABLE status_history (
    sort_key INTEGER NOT NULL REFERENCES mail ON UPDATE CASCADE ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    last_event TEXT,
    PRIMARY KEY (sort_key, seq)
) STRICT, WITHOUT ROWID;

-- Ranges of the service's listing of which every email is in `mail`, by their outermost rows.
CREATE TABLE covered_range (
    top INTEGER PRIMARY KEY REFERENCES mail ON UPDATE CASCADE,
    bottom INTEGER NOT NULL REFERENCES mail ON UPDATE CASCADE,
    reaches_top INTEGER NOT NULL,
    reaches_end INTEGER NOT NULL
) STRICT;

-- When the service confirmed the status of listed rows: one run covers the rows of a page, or of
-- several pages that were requested within seconds. Runs do not overlap.
CREATE TABLE confirmed_run (
    top INTEGER PRIMARY KEY,
    bottom INTEGER NOT NULL,
    requested_at INTEGER NOT NULL,   -- when the oldest of its requests was sent; 0 confirms no row
    response_seq INTEGER NOT NULL,   -- number of the oldest of its responses
    may_change INTEGER NOT NULL      -- 1 if a row of it may have a status that is not final
) STRICT;

-- What is known about the service's listing as a whole. One row.
CREATE TABLE listing (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    oldest_first INTEGER NOT NULL DEFAULT 0,     -- 1 if the service lists the oldest email first
    max_page_len INTEGER NOT NULL DEFAULT 0,     -- length of the longest page so far
    is_empty INTEGER NOT NULL DEFAULT 0,         -- 1 if the service reported that it has no mail at all
    cutoff INTEGER,                              -- mail before this time was purged and is not stored again
    retention INTEGER,                           -- how long mail is stored; null: without a limit
    bodies_stored INTEGER NOT NULL DEFAULT 0,    -- how many bodies were deflated: dictionaries are made from some
    last_request_seq INTEGER NOT NULL DEFAULT 0, -- number of the latest request; see listing/mod.rs
    is_mirror INTEGER,                           -- 1 if the first answer was of a mirror; null before it
    answered_at INTEGER,                         -- when the service answered last, by its own clock if that is behind
    left_out_old INTEGER NOT NULL DEFAULT 0,     -- 1 if mail was deleted or left out because of its age
    head_requested_at INTEGER,                   -- when the latest answered request for the newest page was sent
    backfill_day INTEGER NOT NULL DEFAULT 0,     -- day of the latest backfill, in days since 1970, UTC
    backfill_requests INTEGER NOT NULL DEFAULT 0 -- how many requests the backfill has sent on that day
) STRICT;
INSERT INTO listing (id) VALUES (1);

-- A hash of the id of each email that was purged on demand, so that sync does not store it again.
CREATE TABLE purged (
    number INTEGER PRIMARY KEY,      -- greater than that of every earlier purge
    id_hash BLOB NOT NULL UNIQUE
) STRICT;

-- The service's address and the fingerprint of the key that this mail belongs to. One row, or none in
-- an archive that was never opened with a key.
CREATE TABLE identity (
    service TEXT NOT NULL,
    key_fingerprint TEXT NOT NULL
) STRICT;

-- How many rows `mail` and `body` have: counting a million takes longer than finding some of them.
CREATE TABLE row_counts (
    emails INTEGER NOT NULL,
    bodies INTEGER NOT NULL
) STRICT;
INSERT INTO row_counts VALUES (0, 0);

-- Search index. One row per email (rowid = mail.fts_rowid), one text of space-separated tokens. No column text is kept
-- (contentless), no positions (detail=none): a MATCH yields a superset, and query::eval checks each row again.
-- All text is normalised first (case, accents, width, spaces; query/normalize.rs). The first letter of a token is its prefix:
--   Headers, cut into overlapping trigrams (the last two shorter) so that any part of a word is found, in any script
--     h  recipient: to, cc, bcc ("Name <address>"); also a reply-to address that is not interned
--     f  sender that is not interned
--     u  subject                b  reason of a bounce
--     (h, f, u, b: also each pair of neighbouring non-ASCII characters, for two-character CJK words)
--   Letters that words of headers start with, from three letters on: counted without reading the emails
--     m  a word of a subject, at most 24 characters
--     o  a word of a subject and those after it, with the spaces between them, at most 24 characters
--     a  a word of a recipient before the first @: of the name or the local part, at most 24 characters
--   Whole values
--     l  id in `interned` of the sender or of a reply-to address (the first 64 of each; later ones become f/h trigrams)
--     d  domain of a recipient
--     r  address of a recipient: the local part from back to front, then @ and the domain, so that the end of a local part
--        is a prefix. Where it has not exactly one @: @ and the address. Then, and where a name or a reply-to address that
--        is not interned has an @: what is before each @, from back to front, then @ and a space
--     s  status                 t  tag name                 v  tag name, NUL, tag value
--     i  first 12 characters of the id                      n  first 12 of the message id, without < >
--   Body words, once the email was retrieved (text and visible html)
--     w  a word, at most 24 characters; scripts written without spaces: each character, and each pair of neighbours
--     p  the first 2 and the first 3 letters of a word: FTS5 collects all answers of a prefix query such as wre* before the
--        first one, so short prefixes are tokens of their own
--     c  words with no space between them, as in ord-0033333, at most 24 characters
--     q  a word, a space, and the next word, each at most 24 characters, or 2 if it starts with a digit (not for two words of a
--        script written without spaces, whose pairs are above): many emails have two words, and few have them beside each other
--   Flags
--     xany (every email; the left side of NOT)  xfetched (bodies and tags are known)  xoutoforder (see `out_of_order`)
--     xcc xbcc xreply-to xtext xhtml xtag xreason (the email has that part)
-- ASCII characters other than letters and digits are moved to U+E000..U+E07F inside a token, because the tokenizer
-- `ascii` splits at them (`-` in xreply-to, `@` and `.` in addresses). `ascii` keeps at most 32 768 bytes of a token.
-- A change of this list needs a new schema version; tokens.rs writes the tokens, translate.rs searches for them.
CREATE VIRTUAL TABLE search USING fts5(tokens, content = '', contentless_delete = 1, detail = none, tokenize = ascii);
-- A large transaction fills this much memory before it writes a segment of the index.
INSERT INTO search (search, rank) VALUES ('hashsize', 8388608);

-- Emails whose tokens are missing or out of date. The triggers below fill it, and each transaction
-- empties it before it ends. The triggers avoid INSERT OR IGNORE: the conflict clause of the statement
-- that fires a trigger overrides the trigger's own (https://sqlite.org/lang_createtrigger.html).
CREATE TABLE dirty (sort_key INTEGER PRIMARY KEY) STRICT;

-- Emails whose sort key is more than an hour from their time, and those without a time that can be read: a search by
-- time reads them one by one.
CREATE TABLE out_of_order (sort_key INTEGER PRIMARY KEY) STRICT;

-- Values that many emails share: senders and reply addresses (normalised), statuses, tags.
CREATE TABLE interned (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (kind, value)
) STRICT;

-- An email that is inserted without a rowid for `search` gets one at the end of the transaction.
CREATE TRIGGER mail_after_insert AFTER INSERT ON mail BEGIN
    UPDATE row_counts SET emails = emails + 1;
    INSERT INTO dirty SELECT new.sort_key
    WHERE new.fts_rowid IS NULL AND NOT EXISTS (SELECT 1 FROM dirty WHERE sort_key = new.sort_key);
END;
CREATE TRIGGER mail_after_update
AFTER UPDATE OF id, created_at, last_event, sender, recipients, subject, message_id, cc, bcc, reply_to, extra_json ON mail BEGIN
    INSERT INTO dirty SELECT new.sort_key WHERE NOT EXISTS (SELECT 1 FROM dirty WHERE sort_key = new.sort_key);
END;
-- A row that moves keeps its own time of confirmation, and gains none at its new key.
CREATE TRIGGER mail_after_move AFTER UPDATE OF sort_key ON mail WHEN old.sort_key <> new.sort_key BEGIN
    UPDATE mail SET fts_rowid = NULL,
        confirmed_at = nullif(max(ifnull(confirmed_at, 0), ifnull((SELECT iif(bottom >= old.sort_key AND old.listed, requested_at, 0)
            FROM confirmed_run WHERE top <= old.sort_key ORDER BY top DESC LIMIT 1), 0)), 0)
    WHERE sort_key = new.sort_key;
    -- The run there is read again. 1 << 62 is beyond all keys but those of rows between two keys.
    UPDATE confirmed_run SET requested_at = 0, response_seq = 0, may_change = 1
    WHERE bottom >= new.sort_key AND top = (SELECT max(top) FROM confirmed_run WHERE top <= new.sort_key);
    INSERT INTO confirmed_run (top, bottom, requested_at, response_seq, may_change)
    SELECT new.sort_key, new.sort_key, 0, 0, 1 WHERE new.listed AND abs(new.sort_key) < 1 << 62
        AND NOT EXISTS (SELECT 1 FROM confirmed_run WHERE bottom >= new.sort_key
            AND top = (SELECT max(top) FROM confirmed_run WHERE top <= new.sort_key));
    DELETE FROM search WHERE rowid = old.fts_rowid;
    DELETE FROM out_of_order WHERE sort_key = old.sort_key;
    DELETE FROM dirty WHERE sort_key = old.sort_key;
    INSERT INTO dirty SELECT new.sort_key WHERE NOT EXISTS (SELECT 1 FROM dirty WHERE sort_key = new.sort_key);
END;
CREATE TRIGGER mail_after_delete AFTER DELETE ON mail BEGIN
    DELETE FROM search WHERE rowid = old.fts_rowid;
    DELETE FROM out_of_order WHERE sort_key = old.sort_key;
    DELETE FROM dirty WHERE sort_key = old.sort_key;
    UPDATE row_counts SET emails = emails - 1;
END;
CREATE TRIGGER body_after_insert AFTER INSERT ON body BEGIN
    UPDATE row_counts SET bodies = bodies + 1;
    INSERT INTO dirty SELECT new.sort_key WHERE NOT EXISTS (SELECT 1 FROM dirty WHERE sort_key = new.sort_key);
END;
CREATE TRIGGER body_after_update AFTER UPDATE OF json ON body BEGIN
    INSERT INTO dirty SELECT new.sort_key WHERE NOT EXISTS (SELECT 1 FROM dirty WHERE sort_key = new.sort_key);
END;
CREATE TRIGGER body_after_delete AFTER DELETE ON body BEGIN
    UPDATE row_counts SET bodies = bodies - 1;
END;
