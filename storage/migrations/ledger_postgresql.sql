-- Sums of the ledger by the quarter of an hour. Transactions that write at the same time add to different parts of a
-- sum: each locks one of 32, the first that is free, so that it waits for no row of another. Statements end with a
-- semicolon and a blank line.
CREATE FUNCTION charge_summed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    own INT := MOD(pg_backend_pid(), 32);
    tries INT := 1;
BEGIN
    WHILE NOT pg_try_advisory_xact_lock(1668183400, own) LOOP
        IF tries = 32 THEN
            PERFORM pg_advisory_xact_lock(1668183400, own);
            EXIT;
        END IF;
        own := MOD(own + 1, 32);
        tries := tries + 1;
    END LOOP;
    INSERT INTO usage_sums AS sums (part, quarter, worker, kind, token, person, calls, prompt, completion, tokens_unknown, cost, least_cost,
        costs_unknown, charged_tokens, charged_cost) VALUES (
        own, FLOOR(NEW.at / 900), NEW.worker, NEW.kind, COALESCE(NEW.token, ''), COALESCE(NEW.person, ''),
        1, COALESCE(NEW.prompt, 0), COALESCE(NEW.completion, 0), (NEW.prompt + NEW.completion IS NULL)::INT,
        COALESCE(NEW.cost, 0), COALESCE(NEW.least_cost, NEW.cost, 0), (NEW.cost IS NULL)::INT,
        NEW.charged_tokens, NEW.charged_cost
    ) ON CONFLICT (part, quarter, worker, kind, token, person) DO UPDATE SET
        calls = sums.calls + 1,
        prompt = sums.prompt + excluded.prompt,
        completion = sums.completion + excluded.completion,
        tokens_unknown = sums.tokens_unknown + excluded.tokens_unknown,
        cost = sums.cost + excluded.cost,
        least_cost = sums.least_cost + excluded.least_cost,
        costs_unknown = sums.costs_unknown + excluded.costs_unknown,
        charged_tokens = sums.charged_tokens + excluded.charged_tokens,
        charged_cost = sums.charged_cost + excluded.charged_cost;
    RETURN NULL;
END $$;

CREATE TRIGGER charges_summed AFTER INSERT ON charges
    FOR EACH ROW WHEN (NEW.copied = 0) EXECUTE FUNCTION charge_summed();
