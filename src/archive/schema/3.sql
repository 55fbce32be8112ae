-- When the service was found to list the email no more, in microseconds; NULL as long as it does.
ALTER TABLE mail ADD COLUMN gone INTEGER;

-- Mail before this time (microseconds) was removed and is not taken again.
ALTER TABLE listing ADD COLUMN horizon INTEGER;

-- Emails that were removed on demand: a hash of each id, so that sync does not bring them back.
CREATE TABLE removed (
    mark BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;
