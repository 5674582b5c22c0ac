-- Sums of the ledger by the quarter of an hour. Statements end with a semicolon and a blank line.
CREATE FUNCTION charge_summed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO usage_sums AS sums (quarter, worker, kind, token, person, calls, prompt, completion, tokens_unknown, cost, least_cost,
        costs_unknown, charged_tokens, charged_cost) VALUES (
        FLOOR(NEW.at / 900), NEW.worker, NEW.kind, COALESCE(NEW.token, ''), COALESCE(NEW.person, ''),
        1, COALESCE(NEW.prompt, 0), COALESCE(NEW.completion, 0), (NEW.prompt + NEW.completion IS NULL)::INT,
        COALESCE(NEW.cost, 0), COALESCE(NEW.least_cost, NEW.cost, 0), (NEW.cost IS NULL)::INT,
        NEW.charged_tokens, NEW.charged_cost
    ) ON CONFLICT (quarter, worker, kind, token, person) DO UPDATE SET
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
