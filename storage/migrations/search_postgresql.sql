-- Search, on PostgreSQL: `texts` holds each text by which a session is found once for its session and kind, however
-- many revisions or runs contain it. Its column `words` is indexed. The view `said` is what `texts` must hold;
-- triggers keep it so, whichever program writes. Statements end with a semicolon and a blank line.
-- A damaged workflow has no steps here. NUL is replaced: PostgreSQL refuses it.
CREATE FUNCTION workflow_steps(workflow TEXT)
RETURNS TABLE (worker TEXT, instruction TEXT) LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN QUERY SELECT step ->> 'worker', step ->> 'instruction'
        FROM json_array_elements(replace(workflow, '\u0000', '\ufffd')::json -> 'steps') AS step;
EXCEPTION WHEN data_exception THEN
    RETURN;
END $$;

CREATE VIEW revision_steps AS
SELECT revisions.id AS revision, session, step.worker, step.instruction
FROM revisions, workflow_steps(workflow) AS step;

CREATE VIEW said AS
SELECT id AS session, 'title' AS kind, title AS text FROM sessions WHERE title <> ''
UNION SELECT id, 'query', query FROM sessions WHERE query <> ''
UNION SELECT session, 'tag', tag FROM tags
UNION SELECT session, 'instruction', instruction FROM revision_steps WHERE instruction <> ''
UNION SELECT session, 'answer', answer FROM runs WHERE answer <> ''
UNION SELECT session, 'note', text FROM notes WHERE deleted_at IS NULL AND text <> '';

-- A text vector holds one megabyte at most, so what is beyond 100,000 letters is not searched.
CREATE FUNCTION folded(text TEXT) RETURNS TEXT
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
SELECT regexp_replace(
    lower(regexp_replace(normalize(left(text, 100000), NFD), '[\u0300-\u036f]', '', 'g')
        COLLATE "und-x-icu"),
    '[^[:alnum:]]+', ' ', 'g'
) $$;

CREATE FUNCTION words(text TEXT) RETURNS TSVECTOR
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
SELECT to_tsvector('simple', folded(text)) $$;

-- One term: words one after another, of which the last may be the beginning of a longer one.
CREATE FUNCTION term(text TEXT, begins BOOLEAN) RETURNS TSQUERY
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
SELECT CASE WHEN begins AND numnode(phrase) > 0
    THEN (phrase::text || ':*')::tsquery ELSE phrase END
FROM phraseto_tsquery('simple', folded(text)) AS phrase $$;

-- Stored, so that a phrase is looked up in it, and not in the words of the text made again.
ALTER TABLE texts ADD COLUMN words TSVECTOR GENERATED ALWAYS AS (words(text)) STORED;

CREATE INDEX texts_words ON texts USING gin (words);

CREATE FUNCTION session_said() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM texts WHERE session = OLD.id AND kind IN ('title', 'query');
    END IF;
    INSERT INTO texts (session, kind, text) SELECT NEW.id, 'title', NEW.title WHERE NEW.title <> '';
    INSERT INTO texts (session, kind, text) SELECT NEW.id, 'query', NEW.query WHERE NEW.query <> '';
    RETURN NULL;
END $$;

CREATE TRIGGER sessions_said AFTER INSERT OR UPDATE OF title, query ON sessions
FOR EACH ROW EXECUTE FUNCTION session_said();

CREATE FUNCTION tag_said() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO texts (session, kind, text) VALUES (NEW.session, 'tag', NEW.tag);
    ELSE
        DELETE FROM texts WHERE session = OLD.session AND kind = 'tag' AND text = OLD.tag;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER tags_said AFTER INSERT OR DELETE ON tags
FOR EACH ROW EXECUTE FUNCTION tag_said();

CREATE FUNCTION revision_said() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO revision_workers (revision, worker)
            SELECT DISTINCT NEW.id, worker FROM workflow_steps(NEW.workflow) WHERE worker IS NOT NULL;
        INSERT INTO texts (session, kind, text)
            SELECT NEW.session, 'instruction', instruction FROM workflow_steps(NEW.workflow)
            WHERE instruction <> ''
            EXCEPT SELECT session, kind, text FROM texts
            WHERE session = NEW.session AND kind = 'instruction';
    ELSE
        DELETE FROM texts WHERE session = OLD.session AND kind = 'instruction'
            AND text NOT IN (
                SELECT instruction FROM revision_steps
                WHERE session = OLD.session AND instruction IS NOT NULL
            );
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER revisions_said AFTER INSERT OR DELETE ON revisions
FOR EACH ROW EXECUTE FUNCTION revision_said();

CREATE FUNCTION run_said() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.answer <> '' THEN
        DELETE FROM texts WHERE session = OLD.session AND kind = 'answer' AND text = OLD.answer
            AND NOT EXISTS (SELECT 1 FROM runs WHERE session = OLD.session AND answer = OLD.answer);
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.answer <> '' THEN
        INSERT INTO texts (session, kind, text)
            SELECT NEW.session, 'answer', NEW.answer WHERE NOT EXISTS (
                SELECT 1 FROM texts
                WHERE session = NEW.session AND kind = 'answer' AND text = NEW.answer
            );
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER runs_said AFTER INSERT OR DELETE OR UPDATE OF answer ON runs
FOR EACH ROW EXECUTE FUNCTION run_said();

-- Each text is there once for its session and kind: it goes where no other note has it.
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
