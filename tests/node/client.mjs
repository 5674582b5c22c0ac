// Asks the API at `base` with OpenAI's own client and prints what came of it as one JSON object.
// node client.mjs BASE KEY
import OpenAI from "openai";

const [base, key] = process.argv.slice(2);
const client = new OpenAI({ baseURL: base, apiKey: key, maxRetries: 0 });
const messages = [
  { role: "system", content: "Answer in one line." },
  { role: "user", content: "Which is it?" },
];

async function refusal(work) {
  try {
    await work();
    return null;
  } catch (error) {
    const { status, code, param, type } = error;
    return { name: error.constructor.name, status, code, param, type };
  }
}

async function streamed() {
  const stream = await client.chat.completions.create({
    model: "conductor",
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  const answer = { text: "", finish: null, usage: null, conductor: null };
  for await (const chunk of stream) {
    for (const choice of chunk.choices) {
      answer.text += choice.delta.content ?? "";
      answer.finish = choice.finish_reason ?? answer.finish;
    }
    answer.usage = chunk.usage ?? answer.usage;
    answer.conductor = chunk.conductor ?? answer.conductor;
  }
  return answer;
}

async function responded() {
  const types = [];
  let text = "";
  let last = -1;
  let ordered = true;
  const stream = await client.responses.create({ model: "worker:alpha", input: "Which is it?", stream: true });
  for await (const event of stream) {
    types.push(event.type);
    ordered &&= event.sequence_number === last + 1;
    last = event.sequence_number;
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  return { types, text, ordered };
}

async function aborted() {
  const stream = await client.chat.completions.create({ model: "worker:slow", messages, stream: true });
  for await (const _ of stream) break; // leaving the loop closes the connection
  return stream.controller.signal.aborted;
}

const plain = await client.chat.completions.create({ model: "worker:alpha", messages });
const response = await client.responses.create({ model: "worker:alpha", input: "Which is it?" });
const models = [];
for await (const model of client.models.list()) models.push(model.id);

console.log(
  JSON.stringify({
    plain: { text: plain.choices[0].message.content, usage: plain.usage, conductor: plain.conductor },
    streamed: await streamed(),
    response: { text: response.output_text, status: response.status },
    responded: await responded(),
    models,
    model: (await client.models.retrieve("worker:alpha")).id,
    aborted: await aborted(),
    unknown: await refusal(() => client.chat.completions.create({ model: "nobody", messages })),
    unsupported: await refusal(() => client.chat.completions.create({ model: "conductor", messages, n: 5 })),
    keyless: await refusal(() =>
      new OpenAI({ baseURL: base, apiKey: "none", maxRetries: 0 }).models.list(),
    ),
  }),
);
