-- What emails of the same kind have in common, to pack them with: a stretch of text in which no word
-- stands that few of them hold.
CREATE TABLE dictionary (
    dictionary INTEGER PRIMARY KEY,
    text BLOB NOT NULL
) STRICT;

-- How many bodies were packed: now and then something is learned from them.
ALTER TABLE listing ADD COLUMN packed INTEGER NOT NULL DEFAULT 0;

-- The dictionary that `json` was deflated with, if there was one.
ALTER TABLE body ADD COLUMN dictionary INTEGER REFERENCES dictionary;

-- One email as the list describes it, in less room than before: the slot stands beside it and not
-- in a table of its own, times are numbers, and the few senders of a team are kept once.
CREATE TABLE mail_4 (
    place INTEGER PRIMARY KEY,    -- newest is smallest; see place.rs
    slot INTEGER,                 -- the place as a small number of the same order; see search/slot.rs
    id ANY NOT NULL,
    listed INTEGER NOT NULL,      -- 1 once a page within a span has held it
    seen INTEGER NOT NULL,        -- when this last_event was first seen, in microseconds
    changes INTEGER NOT NULL,     -- how often last_event was seen to change
    gone INTEGER,                 -- when the service was found to list it no more, in microseconds
    shape INTEGER NOT NULL REFERENCES shape,
    created_at ANY,               -- a number if it is written in a usual way; see moment.rs
    last_event TEXT,
    sender ANY,                   -- the number of a label, or the text if there are too many
    recipients TEXT,
    subject TEXT,
    message_id ANY,
    cc TEXT,
    bcc TEXT,
    reply_to TEXT,
    scheduled_at TEXT,
    odd TEXT
) STRICT;

INSERT OR IGNORE INTO label (kind, text)
SELECT 'sender', sender FROM mail WHERE sender IS NOT NULL GROUP BY sender ORDER BY count(*) DESC LIMIT 4096;
