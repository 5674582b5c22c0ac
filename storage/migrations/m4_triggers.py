"""How `texts` and `revision_workers` follow the rows that they are made of, whoever writes those."""

from __future__ import annotations

from storage.migrations.migration import Statement

_SQLITE = (
    """CREATE TRIGGER sessions_said AFTER INSERT ON sessions BEGIN
        INSERT INTO texts (session, kind, text) SELECT NEW.id, 'title', NEW.title WHERE NEW.title <> '';
        INSERT INTO texts (session, kind, text) SELECT NEW.id, 'query', NEW.query WHERE NEW.query <> '';
    END""",
    """CREATE TRIGGER sessions_reworded AFTER UPDATE OF title, query ON sessions BEGIN
        DELETE FROM texts WHERE session = OLD.id AND kind IN ('title', 'query');
        INSERT INTO texts (session, kind, text) SELECT NEW.id, 'title', NEW.title WHERE NEW.title <> '';
        INSERT INTO texts (session, kind, text) SELECT NEW.id, 'query', NEW.query WHERE NEW.query <> '';
    END""",
    """CREATE TRIGGER tags_said AFTER INSERT ON tags BEGIN
        INSERT INTO texts (session, kind, text) VALUES (NEW.session, 'tag', NEW.tag);
    END""",
    """CREATE TRIGGER tags_unsaid AFTER DELETE ON tags BEGIN
        DELETE FROM texts WHERE session = OLD.session AND kind = 'tag' AND text = OLD.tag;
    END""",
    """CREATE TRIGGER revisions_said AFTER INSERT ON revisions BEGIN
        INSERT INTO revision_workers (revision, worker)
            SELECT DISTINCT revision, worker FROM revision_steps
            WHERE revision = NEW.id AND worker IS NOT NULL;
        INSERT INTO texts (session, kind, text)
            SELECT session, 'instruction', instruction FROM revision_steps
            WHERE revision = NEW.id AND instruction <> ''
            EXCEPT SELECT session, kind, text FROM texts
            WHERE session = NEW.session AND kind = 'instruction';
    END""",
    """CREATE TRIGGER revisions_unsaid AFTER DELETE ON revisions BEGIN
        DELETE FROM texts WHERE session = OLD.session AND kind = 'instruction'
            AND text NOT IN (
                SELECT instruction FROM revision_steps
                WHERE session = OLD.session AND instruction IS NOT NULL
            );
    END""",
    """CREATE TRIGGER runs_said AFTER INSERT ON runs WHEN NEW.answer <> '' BEGIN
        INSERT INTO texts (session, kind, text)
            SELECT NEW.session, 'answer', NEW.answer WHERE NOT EXISTS (
                SELECT 1 FROM texts
                WHERE session = NEW.session AND kind = 'answer' AND text = NEW.answer
            );
    END""",
    """CREATE TRIGGER runs_answered AFTER UPDATE OF answer ON runs WHEN NEW.answer IS NOT OLD.answer BEGIN
        DELETE FROM texts WHERE session = OLD.session AND kind = 'answer' AND text = OLD.answer
            AND NOT EXISTS (SELECT 1 FROM runs WHERE session = OLD.session AND answer = OLD.answer);
        INSERT INTO texts (session, kind, text)
            SELECT NEW.session, 'answer', NEW.answer WHERE NEW.answer <> '' AND NOT EXISTS (
                SELECT 1 FROM texts
                WHERE session = NEW.session AND kind = 'answer' AND text = NEW.answer
            );
    END""",
    """CREATE TRIGGER runs_unsaid AFTER DELETE ON runs WHEN OLD.answer <> '' BEGIN
        DELETE FROM texts WHERE session = OLD.session AND kind = 'answer' AND text = OLD.answer
            AND NOT EXISTS (SELECT 1 FROM runs WHERE session = OLD.session AND answer = OLD.answer);
    END""",
)

_POSTGRESQL = (
    """CREATE FUNCTION session_said() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' THEN
            DELETE FROM texts WHERE session = OLD.id AND kind IN ('title', 'query');
        END IF;
        INSERT INTO texts (session, kind, text) SELECT NEW.id, 'title', NEW.title WHERE NEW.title <> '';
        INSERT INTO texts (session, kind, text) SELECT NEW.id, 'query', NEW.query WHERE NEW.query <> '';
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER sessions_said AFTER INSERT OR UPDATE OF title, query ON sessions
        FOR EACH ROW EXECUTE FUNCTION session_said()""",
    """CREATE FUNCTION tag_said() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            INSERT INTO texts (session, kind, text) VALUES (NEW.session, 'tag', NEW.tag);
        ELSE
            DELETE FROM texts WHERE session = OLD.session AND kind = 'tag' AND text = OLD.tag;
        END IF;
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER tags_said AFTER INSERT OR DELETE ON tags
        FOR EACH ROW EXECUTE FUNCTION tag_said()""",
    """CREATE FUNCTION revision_said() RETURNS TRIGGER LANGUAGE plpgsql AS $$
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
    END $$""",
    """CREATE TRIGGER revisions_said AFTER INSERT OR DELETE ON revisions
        FOR EACH ROW EXECUTE FUNCTION revision_said()""",
    """CREATE FUNCTION run_said() RETURNS TRIGGER LANGUAGE plpgsql AS $$
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
    END $$""",
    """CREATE TRIGGER runs_said AFTER INSERT OR DELETE OR UPDATE OF answer ON runs
        FOR EACH ROW EXECUTE FUNCTION run_said()""",
)

TRIGGERS: tuple[Statement, ...] = (
    *({"sqlite": trigger} for trigger in _SQLITE),
    *({"postgresql": trigger} for trigger in _POSTGRESQL),
)
