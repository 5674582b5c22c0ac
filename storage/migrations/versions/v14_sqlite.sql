-- Notes in the search, on SQLite: the view and triggers of version 11 with one more kind of text.
-- Each text is there once for its session and kind: it goes where no other note has it.
DROP VIEW said;

CREATE VIEW said AS
SELECT id AS session, 'title' AS kind, title AS text FROM sessions WHERE title <> ''
UNION SELECT id, 'query', query FROM sessions WHERE query <> ''
UNION SELECT session, 'tag', tag FROM tags
UNION SELECT session, 'instruction', instruction FROM revision_steps WHERE instruction <> ''
UNION SELECT session, 'answer', answer FROM runs WHERE answer <> ''
UNION SELECT session, 'note', text FROM notes WHERE deleted_at IS NULL AND text <> '';

CREATE TRIGGER notes_said AFTER INSERT ON notes BEGIN
    INSERT INTO texts (session, kind, text)
        SELECT NEW.session, 'note', NEW.text WHERE NEW.deleted_at IS NULL AND NEW.text <> ''
        AND NOT EXISTS (
            SELECT 1 FROM texts WHERE session = NEW.session AND kind = 'note' AND text = NEW.text
        );
END;

CREATE TRIGGER notes_reworded AFTER UPDATE OF text, deleted_at ON notes BEGIN
    DELETE FROM texts WHERE session = OLD.session AND kind = 'note' AND text = OLD.text
        AND NOT EXISTS (
            SELECT 1 FROM notes WHERE session = OLD.session AND text = OLD.text AND deleted_at IS NULL
        );
    INSERT INTO texts (session, kind, text)
        SELECT NEW.session, 'note', NEW.text WHERE NEW.deleted_at IS NULL AND NEW.text <> ''
        AND NOT EXISTS (
            SELECT 1 FROM texts WHERE session = NEW.session AND kind = 'note' AND text = NEW.text
        );
END;

CREATE TRIGGER notes_unsaid AFTER DELETE ON notes BEGIN
    DELETE FROM texts WHERE session = OLD.session AND kind = 'note' AND text = OLD.text
        AND NOT EXISTS (
            SELECT 1 FROM notes WHERE session = OLD.session AND text = OLD.text AND deleted_at IS NULL
        );
END;
