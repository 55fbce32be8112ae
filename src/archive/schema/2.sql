-- What is looked for, as one bag of tokens for each email under its place (see search/tokens.rs).
-- Newest is smallest, so the order of the index is that of the list and nothing is ever sorted.
-- The tokens come ready made; `ascii` only cuts them at the blanks.
CREATE VIRTUAL TABLE search USING fts5(tokens, content = '', contentless_delete = 1, detail = none, tokenize = ascii);

-- Emails whose tokens are missing or out of date. Whoever changes one leaves it here, by the triggers
-- below, and each transaction clears it before it ends; after this step all emails are here.
CREATE TABLE stale (place INTEGER PRIMARY KEY) STRICT;
INSERT INTO stale SELECT place FROM mail;

-- Emails that stand more than a day from where their time would put them: a search by time looks
-- at them one by one.
CREATE TABLE displaced (place INTEGER PRIMARY KEY) STRICT;

-- Values that many emails share: senders and reply addresses (folded), statuses, tags.
CREATE TABLE label (
    nth INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (kind, text)
) STRICT;

CREATE TRIGGER mail_comes AFTER INSERT ON mail BEGIN
    INSERT OR IGNORE INTO stale VALUES (new.place);
END;
CREATE TRIGGER mail_changes
AFTER UPDATE OF id, created_at, last_event, changes, sender, recipients, subject, message_id, cc, bcc, reply_to ON mail BEGIN
    INSERT OR IGNORE INTO stale VALUES (new.place);
END;
CREATE TRIGGER mail_moves AFTER UPDATE OF place ON mail WHEN old.place <> new.place BEGIN
    DELETE FROM search WHERE rowid = old.place;
    DELETE FROM displaced WHERE place = old.place;
    DELETE FROM stale WHERE place = old.place;
    INSERT OR IGNORE INTO stale VALUES (new.place);
END;
CREATE TRIGGER mail_goes AFTER DELETE ON mail BEGIN
    DELETE FROM search WHERE rowid = old.place;
    DELETE FROM displaced WHERE place = old.place;
    DELETE FROM stale WHERE place = old.place;
END;
CREATE TRIGGER body_comes AFTER INSERT ON body BEGIN
    INSERT OR IGNORE INTO stale VALUES (new.place);
END;
CREATE TRIGGER body_changes AFTER UPDATE OF json ON body BEGIN
    INSERT OR IGNORE INTO stale VALUES (new.place);
END;
