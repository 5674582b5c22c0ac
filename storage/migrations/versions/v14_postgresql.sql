-- Notes in the search, on PostgreSQL: the view and triggers of version 11 with one more kind of text.
-- Each text is there once for its session and kind: it goes where no other note has it.
CREATE OR REPLACE VIEW said AS
SELECT id AS session, 'title' AS kind, title AS text FROM sessions WHERE title <> ''
UNION SELECT id, 'query', query FROM sessions WHERE query <> ''
UNION SELECT session, 'tag', tag FROM tags
UNION SELECT session, 'instruction', instruction FROM revision_steps WHERE instruction <> ''
UNION SELECT session, 'answer', answer FROM runs WHERE answer <> ''
UNION SELECT session, 'note', text FROM notes WHERE deleted_at IS NULL AND text <> '';

CREATE FUNCTION note_said() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM texts WHERE session = OLD.session AND kind = 'note' AND text = OLD.text
        AND NOT EXISTS (
            SELECT 1 FROM notes WHERE session = OLD.session AND text = OLD.text AND deleted_at IS NULL
        );
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO texts (session, kind, text)
        SELECT NEW.session, 'note', NEW.text WHERE NEW.deleted_at IS NULL AND NEW.text <> ''
        AND NOT EXISTS (
            SELECT 1 FROM texts WHERE session = NEW.session AND kind = 'note' AND text = NEW.text
        );
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER notes_said AFTER INSERT OR DELETE OR UPDATE OF text, deleted_at ON notes
FOR EACH ROW EXECUTE FUNCTION note_said();
