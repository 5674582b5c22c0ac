-- Sums of the ledger by the quarter of an hour. Statements end with a semicolon and a blank line.
CREATE TRIGGER charges_summed AFTER INSERT ON charges WHEN NEW.copied = 0 BEGIN
    INSERT INTO usage_sums (quarter, worker, kind, token, person, calls, prompt, completion, tokens_unknown, cost, least_cost,
        costs_unknown, charged_tokens, charged_cost) VALUES (
        CAST(NEW.at / 900 AS INTEGER), NEW.worker, NEW.kind, COALESCE(NEW.token, ''), COALESCE(NEW.person, ''),
        1, COALESCE(NEW.prompt, 0), COALESCE(NEW.completion, 0), NEW.prompt + NEW.completion IS NULL,
        COALESCE(NEW.cost, 0), COALESCE(NEW.least_cost, NEW.cost, 0), NEW.cost IS NULL,
        NEW.charged_tokens, NEW.charged_cost
    ) ON CONFLICT DO UPDATE SET
        calls = calls + 1,
        prompt = prompt + excluded.prompt,
        completion = completion + excluded.completion,
        tokens_unknown = tokens_unknown + excluded.tokens_unknown,
        cost = cost + excluded.cost,
        least_cost = least_cost + excluded.least_cost,
        costs_unknown = costs_unknown + excluded.costs_unknown,
        charged_tokens = charged_tokens + excluded.charged_tokens,
        charged_cost = charged_cost + excluded.charged_cost;
END
