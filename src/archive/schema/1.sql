-- The member names of an email's JSON in their order, as a JSON array. A service has one or two.
CREATE TABLE shape (
    shape INTEGER PRIMARY KEY,
    names TEXT NOT NULL UNIQUE
) STRICT;

-- One email as the list describes it, uncleaned. `odd` is a JSON object of the members that the
-- columns cannot give back: unknown ones, and known ones of an unusual type. ANY columns hold a
-- UUID as 16 bytes and anything else as the text it is.
CREATE TABLE mail (
    place INTEGER PRIMARY KEY,    -- newest is smallest; see place.rs
    id ANY NOT NULL UNIQUE,
    listed INTEGER NOT NULL,      -- 1 once a page within a span has held it
    seen INTEGER NOT NULL,        -- when this last_event was first seen, in microseconds
    changes INTEGER NOT NULL,     -- how often last_event was seen to change
    shape INTEGER NOT NULL REFERENCES shape,
    created_at TEXT,
    last_event TEXT,
    sender TEXT,
    recipients TEXT,
    subject TEXT,
    message_id ANY,
    cc TEXT,
    bcc TEXT,
    reply_to TEXT,
    scheduled_at TEXT,
    odd TEXT
) STRICT;

-- Nothing but the places: counting walks this and not the emails.
CREATE INDEX mail_places ON mail (listed);

-- The answer of the retrieve operation, deflated.
CREATE TABLE body (
    place INTEGER PRIMARY KEY REFERENCES mail ON UPDATE CASCADE ON DELETE CASCADE,
    json BLOB NOT NULL
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

-- What is known about the service's way of listing.
CREATE TABLE listing (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    rising INTEGER NOT NULL,      -- it lists the oldest first
    widest INTEGER NOT NULL,      -- the longest page it has given
    empty INTEGER NOT NULL        -- it said that there is no mail at all
) STRICT;
INSERT INTO listing VALUES (1, 0, 0, 0);
