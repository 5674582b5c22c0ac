// How well words match a name. Knows no page.

/**
 * 0: the name begins with the words; 1: a word of it does; 2: they stand in it; 3: their letters do, each behind
 * the one before or at the beginning of a later word ("owb": Open Workbench). null: they do not match.
 * @param {string} name
 * @param {string} words lower case
 */
export function score(name, words) {
  const text = name.toLowerCase(), at = text.indexOf(words);
  if (at >= 0) return at === 0 ? 0 : begins(text, at) ? 1 : 2;
  let from = -1;
  for (const letter of words.replaceAll(" ", "")) {
    let next = from + 1;
    while (next < text.length && (text[next] !== letter || (next > from + 1 && !begins(text, next)))) next += 1;
    if (next >= text.length || (from < 0 && !begins(text, next))) return null;
    from = next;
  }
  return 3;
}

// Whether each of the words is the beginning of a word in the text.
export const holds = (text, words) => words.split(" ").every((word) => [0, 1].includes(score(text, word) ?? 3));

// Whether a word begins at this place.
const begins = (text, at) => at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1]);
