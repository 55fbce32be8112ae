-- How many rows `mail` and `body` have: to count a million takes longer than to find some of them.
CREATE TABLE tally (
    emails INTEGER NOT NULL,
    bodies INTEGER NOT NULL
) STRICT;
INSERT INTO tally SELECT (SELECT count(*) FROM mail), (SELECT count(*) FROM body);

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
