// OpenAI's own client for Node.

import OpenAI from "openai";
import { BASE_URL, KEY, MODEL, QUESTION, getWeather, tried } from "./weather.mjs";

const client = new OpenAI({ baseURL: BASE_URL, apiKey: KEY, maxRetries: 0 });
const MESSAGES = [{ role: "user", content: QUESTION }];
const object = (properties) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});
const city = { type: "string" };
const tools = [{ type: "function", function: { name: "get_weather", parameters: object({ city }) } }];
const ask = async (more) => (await client.chat.completions.create({ model: MODEL, ...more })).choices[0].message;

await tried({
  plain: async () => (await ask({ messages: MESSAGES })).content,
  stream: async () => {
    let text = "";
    for await (const piece of await client.chat.completions.create({ model: MODEL, messages: MESSAGES, stream: true }))
      text += piece.choices[0]?.delta.content ?? "";
    return text;
  },
  tools: async () => {
    const answer = await ask({ messages: MESSAGES, tools });
    const results = answer.tool_calls.map((call) => ({
      role: "tool",
      tool_call_id: call.id,
      content: getWeather(JSON.parse(call.function.arguments)),
    }));
    return (await ask({ messages: [...MESSAGES, answer, ...results], tools })).content;
  },
  schema: async () => {
    const schema = object({ city, degrees: { type: "integer" } });
    const response_format = { type: "json_schema", json_schema: { name: "report", strict: true, schema } };
    return JSON.parse((await ask({ messages: MESSAGES, response_format })).content);
  },
  refused: async () => {
    try {
      await new OpenAI({ baseURL: BASE_URL, apiKey: "wrong", maxRetries: 0 }).models.list();
    } catch (error) {
      return error.status;
    }
    return 0;
  },
});
