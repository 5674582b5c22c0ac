-- What lists and filters read, in the order of the lists: `session_facets` has a row for the state of each session, the
-- shape and the workers of its current workflow, its tags, and the token that began it; `session_sums` has what
-- its requests took. Triggers write both. Statements end with a semicolon and a blank line.
CREATE FUNCTION session_listed_by() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM session_sums WHERE session = OLD.id;
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' THEN
        INSERT INTO session_facets (kind, name, evaluated, updated_at, session)
            VALUES ('state', NEW.state, (NEW.origin IS NOT DISTINCT FROM 'evaluation')::INT, NEW.updated_at, NEW.id);
        RETURN NULL;
    END IF;
    IF NEW.updated_at <> OLD.updated_at THEN
        UPDATE session_facets SET updated_at = NEW.updated_at WHERE session = NEW.id;
    END IF;
    IF NEW.state <> OLD.state THEN
        UPDATE session_facets SET name = NEW.state WHERE session = NEW.id AND kind = 'state';
    END IF;
    IF NEW.head IS DISTINCT FROM OLD.head THEN
        DELETE FROM session_facets WHERE session = NEW.id AND kind IN ('topology', 'worker');
        INSERT INTO session_facets (kind, name, evaluated, updated_at, session)
            SELECT facet.kind, facet.name, (NEW.origin IS NOT DISTINCT FROM 'evaluation')::INT, NEW.updated_at, NEW.id
            FROM (
                SELECT 'topology' AS kind, topology AS name FROM revisions WHERE id = NEW.head
                UNION ALL SELECT 'worker', worker FROM revision_workers WHERE revision = NEW.head
            ) AS facet;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER sessions_listed_by AFTER INSERT OR DELETE OR UPDATE OF updated_at, state, head ON sessions
FOR EACH ROW EXECUTE FUNCTION session_listed_by();

CREATE FUNCTION listed_by(facet TEXT, named TEXT, of_session TEXT) RETURNS VOID LANGUAGE sql AS $$
INSERT INTO session_facets (kind, name, evaluated, updated_at, session)
    SELECT facet, named, (origin IS NOT DISTINCT FROM 'evaluation')::INT, updated_at, id
    FROM sessions WHERE id = of_session $$;

-- Of a copy, the head is there before its revision.
CREATE FUNCTION revision_listed_by() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM listed_by('topology', NEW.topology, id) FROM sessions WHERE id = NEW.session AND head = NEW.id;
    RETURN NULL;
END $$;

CREATE TRIGGER revisions_listed_by AFTER INSERT ON revisions
FOR EACH ROW EXECUTE FUNCTION revision_listed_by();

CREATE FUNCTION revision_worker_listed_by() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM listed_by('worker', NEW.worker, sessions.id) FROM revisions
        JOIN sessions ON sessions.id = revisions.session AND head = revisions.id
        WHERE revisions.id = NEW.revision;
    RETURN NULL;
END $$;

CREATE TRIGGER revision_workers_listed_by AFTER INSERT ON revision_workers
FOR EACH ROW EXECUTE FUNCTION revision_worker_listed_by();

CREATE FUNCTION tag_listed_by() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM listed_by('tag', NEW.tag, NEW.session);
    ELSE
        DELETE FROM session_facets WHERE session = OLD.session AND kind = 'tag' AND name = OLD.tag;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER tags_listed_by AFTER INSERT OR DELETE ON tags
FOR EACH ROW EXECUTE FUNCTION tag_listed_by();

CREATE FUNCTION api_request_listed_by() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM listed_by('token', NEW.token, NEW.session);
    RETURN NULL;
END $$;

CREATE TRIGGER api_requests_listed_by AFTER INSERT ON api_requests
FOR EACH ROW WHEN (NEW.token IS NOT NULL) EXECUTE FUNCTION api_request_listed_by();

CREATE FUNCTION charge_summed_by_session() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO session_sums AS sums (session, calls, prompt, completion, tokens_unknown, cost, least_cost, costs_unknown) VALUES (
        NEW.session, 1, COALESCE(NEW.prompt, 0), COALESCE(NEW.completion, 0), (NEW.prompt + NEW.completion IS NULL)::INT,
        COALESCE(NEW.cost, 0), COALESCE(NEW.least_cost, NEW.cost, 0), (NEW.cost IS NULL)::INT
    ) ON CONFLICT (session) DO UPDATE SET
        calls = sums.calls + 1,
        prompt = sums.prompt + excluded.prompt,
        completion = sums.completion + excluded.completion,
        tokens_unknown = sums.tokens_unknown + excluded.tokens_unknown,
        cost = sums.cost + excluded.cost,
        least_cost = sums.least_cost + excluded.least_cost,
        costs_unknown = sums.costs_unknown + excluded.costs_unknown;
    RETURN NULL;
END $$;

CREATE TRIGGER charges_summed_by_session AFTER INSERT ON charges
FOR EACH ROW WHEN (NEW.session IS NOT NULL) EXECUTE FUNCTION charge_summed_by_session()
