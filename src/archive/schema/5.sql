-- Whose mail this is: the service's address and the fingerprint of the key. One row, or none in an
-- archive that was never opened for anybody.
CREATE TABLE owner (
    service TEXT NOT NULL,
    key TEXT NOT NULL
) STRICT;

-- Few emails have left the service before they are removed here; a search finds them without all others.
CREATE INDEX mail_gone ON mail (place) WHERE gone IS NOT NULL;
