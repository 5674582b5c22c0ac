// What every client's program asks, and how it prints what came of it.

export const { BASE_URL, KEY, MODEL } = process.env;
export const QUESTION = "How warm is it in Paris and in Rome?";
const DEGREES = { Paris: 21, Rome: 17 };

export const getWeather = ({ city }) => String(DEGREES[city]);

/** Tries each by itself and prints what it returned, or why it failed, as one JSON object. */
export async function tried(capabilities) {
  const results = {};
  for (const [name, capability] of Object.entries(capabilities)) {
    try {
      results[name] = { result: await capability() };
    } catch (error) {
      results[name] = { error: `${error.name}: ${error.message}` };
    }
  }
  console.log(JSON.stringify(results));
}
