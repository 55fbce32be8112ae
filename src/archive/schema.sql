-- The archive's tables. All times are microseconds since 1970, UTC. Sort keys (`place`, `top`, `bottom`)
-- are stored negated, so that the newest email has the smallest key: see place.rs.

-- The member names of an email's JSON in their order, as a JSON array. A service has one or two.
CREATE TABLE shape (
    shape INTEGER PRIMARY KEY,
    names TEXT NOT NULL UNIQUE
) STRICT;

-- One email as the list describes it, not sanitised. ANY columns hold a UUID as 16 bytes, a usual
-- time as a number, and anything else as the text that it is.
CREATE TABLE mail (
    place INTEGER PRIMARY KEY,    -- sort key
    slot INTEGER,                 -- the sort key as a small number of the same order; see search/slot.rs
    id ANY NOT NULL,
    listed INTEGER NOT NULL,      -- 1 if a page within a span has held it
    seen INTEGER NOT NULL,        -- when this last_event was first seen
    changes INTEGER NOT NULL,     -- how often last_event was seen to change
    answer INTEGER NOT NULL,      -- number of the answer that wrote this row last; 0 for an imported row
    checked INTEGER,              -- when an answer that no run covers has confirmed it; see `confirmed`
    gone INTEGER,                 -- when the service was found not to have it; a doubt while `listed` is 1
    shape INTEGER NOT NULL REFERENCES shape,
    created_at ANY,               -- a number if it is written in a usual form; see moment.rs
    last_event TEXT,
    sender ANY,                   -- the number of a label, or the text if there are too many
    recipients TEXT,
    subject TEXT,
    message_id ANY,
    cc TEXT,
    bcc TEXT,
    reply_to TEXT,
    scheduled_at TEXT,
    odd TEXT                      -- JSON object of the members that the columns cannot give back
) STRICT;
CREATE UNIQUE INDEX mail_ids ON mail (id);
-- Counting walks this index instead of the emails; search goes from a slot to its email.
CREATE UNIQUE INDEX mail_slots ON mail (slot);
-- Few emails leave the service before they are removed here; a search finds them without the others.
CREATE INDEX mail_gone ON mail (place) WHERE gone IS NOT NULL;

-- Emails that were retrieved, or on a page that could not be placed: no page confirms them.
CREATE INDEX mail_unlisted ON mail (place) WHERE listed = 0 AND gone IS NULL AND checked IS NOT NULL;

-- The answer of the retrieve operation, deflated with a dictionary.
CREATE TABLE body (
    place INTEGER PRIMARY KEY REFERENCES mail ON UPDATE CASCADE ON DELETE CASCADE,
    json BLOB NOT NULL,
    dictionary INTEGER REFERENCES dictionary  -- NULL: deflated without one
) STRICT;

-- Text that many emails share, to deflate bodies with. It holds no word that only few emails hold.
CREATE TABLE dictionary (
    dictionary INTEGER PRIMARY KEY,
    text BLOB NOT NULL
) STRICT;

-- The values that last_event had before the present one.
CREATE TABLE observed (
    place INTEGER NOT NULL REFERENCES mail ON UPDATE CASCADE ON DELETE CASCADE,
    nth INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    last_event TEXT,
    PRIMARY KEY (place, nth)
) STRICT, WITHOUT ROWID;

-- Stretches of the service's listing of which every email is in `mail`, by their outermost rows.
CREATE TABLE span (
    top INTEGER PRIMARY KEY REFERENCES mail ON UPDATE CASCADE,
    bottom INTEGER NOT NULL REFERENCES mail ON UPDATE CASCADE,
    reaches_top INTEGER NOT NULL,
    reaches_end INTEGER NOT NULL
) STRICT;

-- When the service confirmed the status of listed rows: one run covers the rows of a page, or of
-- several pages that were requested within seconds. Runs do not overlap.
CREATE TABLE confirmed (
    top INTEGER PRIMARY KEY,
    bottom INTEGER NOT NULL,
    at INTEGER NOT NULL,          -- when the oldest of its requests was sent; 0 confirms nothing
    answer INTEGER NOT NULL,      -- number of the oldest of its answers
    open INTEGER NOT NULL         -- 1 if it may hold a status that is not final
) STRICT;

-- What is known about the service's listing as a whole. One row.
CREATE TABLE listing (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    rising INTEGER NOT NULL DEFAULT 0,   -- 1 if it lists the oldest email first
    widest INTEGER NOT NULL DEFAULT 0,   -- length of the longest page it has given
    empty INTEGER NOT NULL DEFAULT 0,    -- 1 if it said that there is no mail at all
    horizon INTEGER,                     -- mail before this time was purged and is not taken again
    packed INTEGER NOT NULL DEFAULT 0,   -- how many bodies were deflated: dictionaries are made from some
    answers INTEGER NOT NULL DEFAULT 0,  -- number of the latest request; see request_time.rs
    head_at INTEGER                      -- when a request for the newest page was sent that was answered
) STRICT;
INSERT INTO listing (one) VALUES (1);

-- A hash of the id of each email that was purged on demand, so that sync does not bring it back.
CREATE TABLE removed (
    mark BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- The service's address and the fingerprint of the key that this mail belongs to. One row, or none in
-- an archive that was never opened with a key.
CREATE TABLE owner (
    service TEXT NOT NULL,
    key TEXT NOT NULL
) STRICT;

-- How many rows `mail` and `body` have: counting a million takes longer than finding some of them.
CREATE TABLE tally (
    emails INTEGER NOT NULL,
    bodies INTEGER NOT NULL
) STRICT;
INSERT INTO tally VALUES (0, 0);

-- The search index: one bag of tokens for each email under its slot. search/tokens.rs lists the
-- token prefixes. The tokens come ready made; `ascii` only splits them at the spaces.
CREATE VIRTUAL TABLE search USING fts5(tokens, content = '', contentless_delete = 1, detail = none, tokenize = ascii);
-- A large transaction fills this much memory before it writes a segment of the index.
INSERT INTO search (search, rank) VALUES ('hashsize', 4194304);

-- Emails whose tokens are missing or out of date; the triggers below fill it, and each transaction
-- empties it before it ends. The triggers avoid INSERT OR IGNORE: the conflict clause of the statement
-- that fires a trigger overrides the trigger's own (https://sqlite.org/lang_createtrigger.html).
CREATE TABLE stale (place INTEGER PRIMARY KEY) STRICT;

-- Emails whose sort key is more than a day from their time: a search by time reads them one by one.
CREATE TABLE displaced (place INTEGER PRIMARY KEY) STRICT;

-- Values that many emails share: senders and reply addresses (normalised), statuses, tags.
CREATE TABLE label (
    nth INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (kind, text)
) STRICT;

-- An email that is inserted without a slot gets one at the end of the transaction.
CREATE TRIGGER mail_comes AFTER INSERT ON mail WHEN new.slot IS NULL BEGIN
    INSERT INTO stale SELECT new.place WHERE NOT EXISTS (SELECT 1 FROM stale WHERE place = new.place);
END;
CREATE TRIGGER mail_changes
AFTER UPDATE OF id, created_at, last_event, changes, sender, recipients, subject, message_id, cc, bcc, reply_to ON mail BEGIN
    INSERT INTO stale SELECT new.place WHERE NOT EXISTS (SELECT 1 FROM stale WHERE place = new.place);
END;
-- A row that moves keeps its own time of confirmation, and gains none where it arrives.
CREATE TRIGGER mail_moves AFTER UPDATE OF place ON mail WHEN old.place <> new.place BEGIN
    UPDATE mail SET slot = NULL,
        checked = nullif(max(ifnull(checked, 0), ifnull((SELECT iif(bottom >= old.place AND old.listed, at, 0)
            FROM confirmed WHERE top <= old.place ORDER BY top DESC LIMIT 1), 0)), 0)
    WHERE place = new.place;
    -- The run there is read again: at = 0 confirms nothing. 1 << 62 is beyond all keys but those of rows on their way.
    UPDATE confirmed SET at = 0, answer = 0, open = 1
    WHERE bottom >= new.place AND top = (SELECT max(top) FROM confirmed WHERE top <= new.place);
    INSERT INTO confirmed SELECT new.place, new.place, 0, 0, 1 WHERE new.listed AND abs(new.place) < 1 << 62
        AND NOT EXISTS (SELECT 1 FROM confirmed WHERE bottom >= new.place
            AND top = (SELECT max(top) FROM confirmed WHERE top <= new.place));
    DELETE FROM search WHERE rowid = old.slot;
    DELETE FROM displaced WHERE place = old.place;
    DELETE FROM stale WHERE place = old.place;
    INSERT INTO stale SELECT new.place WHERE NOT EXISTS (SELECT 1 FROM stale WHERE place = new.place);
END;
CREATE TRIGGER mail_goes AFTER DELETE ON mail BEGIN
    DELETE FROM search WHERE rowid = old.slot;
    DELETE FROM displaced WHERE place = old.place;
    DELETE FROM stale WHERE place = old.place;
END;
CREATE TRIGGER body_comes AFTER INSERT ON body BEGIN
    INSERT INTO stale SELECT new.place WHERE NOT EXISTS (SELECT 1 FROM stale WHERE place = new.place);
END;
CREATE TRIGGER body_changes AFTER UPDATE OF json ON body BEGIN
    INSERT INTO stale SELECT new.place WHERE NOT EXISTS (SELECT 1 FROM stale WHERE place = new.place);
END;

CREATE TRIGGER mail_counts AFTER INSERT ON mail BEGIN
    UPDATE tally SET emails = emails + 1;
END;
CREATE TRIGGER mail_counts_no_more AFTER DELETE ON mail BEGIN
    UPDATE tally SET emails = emails - 1;
END;
CREATE TRIGGER body_counts AFTER INSERT ON body BEGIN
    UPDATE tally SET bodies = bodies + 1;
END;
CREATE TRIGGER body_counts_no_more AFTER DELETE ON body BEGIN
    UPDATE tally SET bodies = bodies - 1;
END;
