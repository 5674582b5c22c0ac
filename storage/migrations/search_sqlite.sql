-- Search, on SQLite: `texts` holds each text by which a session is found once for its session and kind, however
-- many revisions or runs contain it. `words` is its full-text index. The view `said` is what `texts` must hold;
-- triggers keep it so, whichever program writes. Statements end with a semicolon and a blank line.
-- A damaged workflow has no steps here. NUL is replaced: it ends a text in SQLite's functions.
CREATE VIEW revision_steps AS
SELECT revisions.id AS revision, session,
    json_extract(step.value, '$.worker') AS worker,
    json_extract(replace(step.value, '\u0000', '\ufffd'), '$.instruction') AS instruction
FROM revisions, json_each(CASE WHEN json_valid(workflow) THEN workflow END, '$.steps') AS step
WHERE step.type = 'object';

CREATE VIEW said AS
SELECT id AS session, 'title' AS kind, title AS text FROM sessions WHERE title <> ''
UNION SELECT id, 'query', query FROM sessions WHERE query <> ''
UNION SELECT session, 'tag', tag FROM tags
UNION SELECT session, 'instruction', instruction FROM revision_steps WHERE instruction <> ''
UNION SELECT session, 'answer', answer FROM runs WHERE answer <> ''
UNION SELECT session, 'note', text FROM notes WHERE deleted_at IS NULL AND text <> '';

CREATE VIRTUAL TABLE words USING fts5 (
    text, content='texts', content_rowid='id', tokenize="unicode61 remove_diacritics 2", prefix='2 4'
);

CREATE TRIGGER texts_added AFTER INSERT ON texts BEGIN
    INSERT INTO words (rowid, text) VALUES (NEW.id, NEW.text);
END;

CREATE TRIGGER texts_removed AFTER DELETE ON texts BEGIN
    INSERT INTO words (words, rowid, text) VALUES ('delete', OLD.id, OLD.text);
END;

CREATE TRIGGER sessions_said AFTER INSERT ON sessions BEGIN
    INSERT INTO texts (session, kind, text) SELECT NEW.id, 'title', NEW.title WHERE NEW.title <> '';
    INSERT INTO texts (session, kind, text) SELECT NEW.id, 'query', NEW.query WHERE NEW.query <> '';
END;

CREATE TRIGGER sessions_reworded AFTER UPDATE OF title, query ON sessions BEGIN
    DELETE FROM texts WHERE session = OLD.id AND kind IN ('title', 'query');
    INSERT INTO texts (session, kind, text) SELECT NEW.id, 'title', NEW.title WHERE NEW.title <> '';
    INSERT INTO texts (session, kind, text) SELECT NEW.id, 'query', NEW.query WHERE NEW.query <> '';
END;

CREATE TRIGGER tags_said AFTER INSERT ON tags BEGIN
    INSERT INTO texts (session, kind, text) VALUES (NEW.session, 'tag', NEW.tag);
END;

CREATE TRIGGER tags_unsaid AFTER DELETE ON tags BEGIN
    DELETE FROM texts WHERE session = OLD.session AND kind = 'tag' AND text = OLD.tag;
END;

CREATE TRIGGER revisions_said AFTER INSERT ON revisions BEGIN
    INSERT INTO revision_workers (revision, worker)
        SELECT DISTINCT revision, worker FROM revision_steps
        WHERE revision = NEW.id AND worker IS NOT NULL;
    INSERT INTO texts (session, kind, text)
        SELECT session, 'instruction', instruction FROM revision_steps
        WHERE revision = NEW.id AND instruction <> ''
        EXCEPT SELECT session, kind, text FROM texts
        WHERE session = NEW.session AND kind = 'instruction';
END;

CREATE TRIGGER revisions_unsaid AFTER DELETE ON revisions BEGIN
    DELETE FROM texts WHERE session = OLD.session AND kind = 'instruction'
        AND text NOT IN (
            SELECT instruction FROM revision_steps
            WHERE session = OLD.session AND instruction IS NOT NULL
        );
END;

CREATE TRIGGER runs_said AFTER INSERT ON runs WHEN NEW.answer <> '' BEGIN
    INSERT INTO texts (session, kind, text)
        SELECT NEW.session, 'answer', NEW.answer WHERE NOT EXISTS (
            SELECT 1 FROM texts
            WHERE session = NEW.session AND kind = 'answer' AND text = NEW.answer
        );
END;

CREATE TRIGGER runs_answered AFTER UPDATE OF answer ON runs WHEN NEW.answer IS NOT OLD.answer BEGIN
    DELETE FROM texts WHERE session = OLD.session AND kind = 'answer' AND text = OLD.answer
        AND NOT EXISTS (SELECT 1 FROM runs WHERE session = OLD.session AND answer = OLD.answer);
    INSERT INTO texts (session, kind, text)
        SELECT NEW.session, 'answer', NEW.answer WHERE NEW.answer <> '' AND NOT EXISTS (
            SELECT 1 FROM texts
            WHERE session = NEW.session AND kind = 'answer' AND text = NEW.answer
        );
END;

CREATE TRIGGER runs_unsaid AFTER DELETE ON runs WHEN OLD.answer <> '' BEGIN
    DELETE FROM texts WHERE session = OLD.session AND kind = 'answer' AND text = OLD.answer
        AND NOT EXISTS (SELECT 1 FROM runs WHERE session = OLD.session AND answer = OLD.answer);
END;

-- Each text is there once for its session and kind: it goes where no other note has it.
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
