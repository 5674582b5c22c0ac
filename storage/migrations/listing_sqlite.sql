-- What lists and filters read, in the order of the lists: `session_facets` has a row for the state of each session, the
-- shape and the workers of its current workflow, its tags, and the token that began it; `session_sums` has what
-- its requests took. Triggers write both. Statements end with a semicolon and a blank line.
CREATE TRIGGER sessions_listed_by AFTER INSERT ON sessions BEGIN
    INSERT INTO session_facets (kind, name, evaluated, updated_at, session)
        VALUES ('state', NEW.state, NEW.origin IS 'evaluation', NEW.updated_at, NEW.id);
END;

CREATE TRIGGER sessions_moved AFTER UPDATE OF updated_at ON sessions WHEN NEW.updated_at <> OLD.updated_at BEGIN
    UPDATE session_facets SET updated_at = NEW.updated_at WHERE session = NEW.id;
END;

CREATE TRIGGER sessions_changed_state AFTER UPDATE OF state ON sessions WHEN NEW.state <> OLD.state BEGIN
    UPDATE session_facets SET name = NEW.state WHERE session = NEW.id AND kind = 'state';
END;

CREATE TRIGGER sessions_changed_head AFTER UPDATE OF head ON sessions WHEN NEW.head IS NOT OLD.head BEGIN
    DELETE FROM session_facets WHERE session = NEW.id AND kind IN ('topology', 'worker');
    INSERT INTO session_facets (kind, name, evaluated, updated_at, session)
        SELECT 'topology', topology, NEW.origin IS 'evaluation', NEW.updated_at, NEW.id
            FROM revisions WHERE id = NEW.head
        UNION ALL SELECT 'worker', worker, NEW.origin IS 'evaluation', NEW.updated_at, NEW.id
            FROM revision_workers WHERE revision = NEW.head;
END;

-- Of a copy, the head is there before its revision.
CREATE TRIGGER revisions_listed_by AFTER INSERT ON revisions BEGIN
    INSERT INTO session_facets (kind, name, evaluated, updated_at, session)
        SELECT 'topology', NEW.topology, origin IS 'evaluation', updated_at, id
            FROM sessions WHERE id = NEW.session AND head = NEW.id;
END;

CREATE TRIGGER revision_workers_listed_by AFTER INSERT ON revision_workers BEGIN
    INSERT INTO session_facets (kind, name, evaluated, updated_at, session)
        SELECT 'worker', NEW.worker, origin IS 'evaluation', updated_at, id
            FROM sessions WHERE head = NEW.revision
            AND id = (SELECT session FROM revisions WHERE id = NEW.revision);
END;

CREATE TRIGGER tags_listed_by AFTER INSERT ON tags BEGIN
    INSERT INTO session_facets (kind, name, evaluated, updated_at, session)
        SELECT 'tag', NEW.tag, origin IS 'evaluation', updated_at, id FROM sessions WHERE id = NEW.session;
END;

CREATE TRIGGER tags_not_listed_by AFTER DELETE ON tags BEGIN
    DELETE FROM session_facets WHERE session = OLD.session AND kind = 'tag' AND name = OLD.tag;
END;

CREATE TRIGGER api_requests_listed_by AFTER INSERT ON api_requests WHEN NEW.token IS NOT NULL BEGIN
    INSERT INTO session_facets (kind, name, evaluated, updated_at, session)
        SELECT 'token', NEW.token, origin IS 'evaluation', updated_at, id FROM sessions WHERE id = NEW.session;
END;

CREATE TRIGGER charges_summed_by_session AFTER INSERT ON charges WHEN NEW.session IS NOT NULL BEGIN
    INSERT INTO session_sums (session, calls, prompt, completion, tokens_unknown, cost, least_cost, costs_unknown) VALUES (
        NEW.session, 1, COALESCE(NEW.prompt, 0), COALESCE(NEW.completion, 0), NEW.prompt + NEW.completion IS NULL,
        COALESCE(NEW.cost, 0), COALESCE(NEW.least_cost, NEW.cost, 0), NEW.cost IS NULL
    ) ON CONFLICT DO UPDATE SET
        calls = calls + 1,
        prompt = prompt + excluded.prompt,
        completion = completion + excluded.completion,
        tokens_unknown = tokens_unknown + excluded.tokens_unknown,
        cost = cost + excluded.cost,
        least_cost = least_cost + excluded.least_cost,
        costs_unknown = costs_unknown + excluded.costs_unknown;
END;

CREATE TRIGGER sessions_unsummed AFTER DELETE ON sessions BEGIN
    DELETE FROM session_sums WHERE session = OLD.id;
END
