// A task and a question after it, with the `model` of docs/agents.md.

import { execSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { jsonSchema, stepCountIs, streamText, tool } from "ai";

const { model } = await import(`${process.cwd()}/block.mjs`);
globalThis.AI_SDK_LOG_WARNINGS = false;
const texts = (...names) =>
  jsonSchema({
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
    required: names,
  });
const tools = {
  read_file: tool({
    description: "Return the text of a file.",
    inputSchema: texts("path"),
    execute: ({ path }) => readFileSync(path, "utf8"),
  }),
  edit_file: tool({
    description: "Replace a text in a file.",
    inputSchema: texts("path", "old", "new"),
    execute: (edit) => {
      writeFileSync(edit.path, readFileSync(edit.path, "utf8").replace(edit.old, edit.new));
      return "replaced";
    },
  }),
  run: tool({
    description: "Run a command of the shell and return what it prints.",
    inputSchema: texts("command"),
    execute: ({ command }) => execSync(command, { encoding: "utf8" }),
  }),
};
const messages = [];
for (const content of [process.env.TASK, process.env.FOLLOW_UP]) {
  messages.push({ role: "user", content });
  const result = streamText({ model, messages, tools, stopWhen: stepCountIs(8) });
  for await (const part of result.fullStream) if (part.type === "error") throw part.error;
  messages.push(...(await result.responseMessages));
  console.log(await result.text);
}
