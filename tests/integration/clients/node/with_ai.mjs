// Vercel's AI SDK, with its provider of servers that speak as OpenAI's.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Output, generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { BASE_URL, KEY, MODEL, QUESTION, getWeather, tried } from "./weather.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const served = createOpenAICompatible({
  name: "conductor",
  baseURL: BASE_URL,
  apiKey: KEY,
  supportsStructuredOutputs: true,
});
const request = { model: served(MODEL), prompt: QUESTION, maxRetries: 0 };
const object = (properties) => jsonSchema({ type: "object", properties, required: Object.keys(properties) });
const city = { type: "string" };

await tried({
  plain: async () => (await generateText(request)).text,
  stream: async () => {
    let text = "";
    for await (const piece of streamText(request).textStream) text += piece;
    return text;
  },
  tools: async () => {
    const weather = tool({
      description: "How warm it is in a city, in degrees.",
      inputSchema: object({ city }),
      execute: async (input) => getWeather(input),
    });
    return (await generateText({ ...request, tools: { get_weather: weather }, stopWhen: stepCountIs(3) })).text;
  },
  schema: async () => {
    const output = Output.object({ schema: object({ city, degrees: { type: "integer" } }) });
    return (await generateText({ ...request, output })).output;
  },
});
