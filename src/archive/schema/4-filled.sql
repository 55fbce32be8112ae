-- The old table goes, and what is named after it means the new one.
DROP TABLE mail;
DROP TABLE slot;
ALTER TABLE mail_4 RENAME TO mail;
CREATE UNIQUE INDEX mail_ids ON mail (id);
-- Counting walks this and not the emails; searching goes from a slot to its place.
CREATE UNIQUE INDEX mail_slots ON mail (slot);

-- Whoever inserts an email without a slot leaves it to the end of the transaction to find it one.
CREATE TRIGGER mail_comes AFTER INSERT ON mail WHEN new.slot IS NULL BEGIN
    INSERT OR IGNORE INTO stale VALUES (new.place);
END;
CREATE TRIGGER mail_changes
AFTER UPDATE OF id, created_at, last_event, changes, sender, recipients, subject, message_id, cc, bcc, reply_to ON mail BEGIN
    INSERT OR IGNORE INTO stale VALUES (new.place);
END;
CREATE TRIGGER mail_moves AFTER UPDATE OF place ON mail WHEN old.place <> new.place BEGIN
    DELETE FROM search WHERE rowid = old.slot;
    UPDATE mail SET slot = NULL WHERE place = new.place;
    DELETE FROM displaced WHERE place = old.place;
    DELETE FROM stale WHERE place = old.place;
    INSERT OR IGNORE INTO stale VALUES (new.place);
END;
CREATE TRIGGER mail_goes AFTER DELETE ON mail BEGIN
    DELETE FROM search WHERE rowid = old.slot;
    DELETE FROM displaced WHERE place = old.place;
    DELETE FROM stale WHERE place = old.place;
END;

-- A large transaction fills this much of memory before it writes a segment of the index.
INSERT INTO search (search, rank) VALUES ('hashsize', 4194304);
