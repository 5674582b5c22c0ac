// Which of two things a text is likely meant as, where a workflow is shown: a question of its own ("ask"), or a change
// of the plan ("change"). Pure, and a proposal only: a person's choice counts.
//
// A change names a part of a plan (a step, a reader, a check, a worker of the pool) near an order that is given about
// plans ("use", "drop", "no", "two"), or is the subject of one ("step 2 should"). All else is a question.

const NUMBER = "\\d+|one|two|three|four|five|six|seven|eight|nine|ten|a dozen|both|several";
const CHECKING = "verif(?:y|ies|ying)|verification|(?:double[- ]?|cross[- ]?|fact[- ]?)?check(?:s|ing|ed)?|review(?:s|ing)?|proof-?read(?:ing)?";
// Who or what a plan has. A model or a plan may be anybody's, unless another or this one is meant.
const OTHER = "another|other|different|stronger|weaker|cheaper|bigger|larger|smaller|faster|better|second|same|local|more|fewer";
const PART = `(?:sub-?)?steps?|readers?|verifiers?|(?:fact-?)?checkers?|critics?|reviewers?|editors?|writers?|solvers?|workers?|agents?|judges?|voters?|researchers?`
  + `|aggregators?|proof-?readers?|second opinions?|instructions?|branch(?:es)?|gates?|edges?|access(?:es)?|rounds? of (?:${CHECKING})|(?:sanity )?checks?|verification`
  + `|(?:this|the|our|your) (?:plan|workflow|graph)|(?:${OTHER}|${NUMBER}) (?:model|llm|expert)s?`;
const ORDER = "use|add|append|insert|remove|drop|delete|skip|omit|cut|scrap|lose|ditch|leave out|get rid of|merge|combine|join|fuse|split|divide|break|replace|swap|switch"
  + "|exchange|give|assign|hand|let|have|make|move|put|place|reorder|connect|disconnect|link|route|send|start with|end with|begin with|finish with|insert|include|bring in|change"
  + "|shorten|simplify|rewrite|reword|rephrase|rename|edit|improve|fix|adjust|tweak|modify|extend|update|introduce|duplicate|double|parallelize|parallelise|turn|keep|run|limit|reduce|increase|need|want|prefer|try|go with|stick to|take out|take";
const FEW = `no|too many|too few|\\+ ?\\d+|without|(?:some )?more|fewer|less|only|just|another|one more|an? (?:extra|additional|second|third|separate)|at (?:most|least)|(?:${NUMBER})(?: or (?:${NUMBER}))?`;

const at = (pattern) => new RegExp(`^(?:${pattern})\\b`, "i");
// Words that stand before an order and change nothing of it, such as "could you please".
const MANNERS = at("(?:please|pls|ok(?:ay)?|now|then|so|and|but|also|instead|maybe|perhaps|actually|hm+|well|rather|let'?s|let us|you (?:should|could|can|must)|we (?:should|could|can|must|need to|want to)"
  + "|i (?:think|guess)(?: (?:we|you) (?:should|could))?|i(?:'d| would) (?:like|prefer|rather)(?: (?:you|it))?(?: to)?(?: have)?|i want(?: you)?(?: to)?|(?:can|could|would|will|shall|should) (?:you|we|i|it)"
  + "|is it possible to|would it be possible to|would it (?:help|be better) (?:to|if (?:you|we))|what if (?:you|we|there (?:were|was))?|how about|what about|why (?:not|don'?t (?:you|we))|it would be better (?:to|with)|better|this time|next time)");
const QUESTION = at("what|who|whom|whose|why|how|when|where|which|is|are|was|were|am|do(?! not)|does|did|has|have (?:you|they|we|i)|had|will|would|should|could|can|may|might|shall|isn'?t|aren'?t|doesn'?t");
const ELSE = at("(?:give|make|show|tel{2}|hand|send|bring|get|run|walk|take|let) (?:me|us)|(?:make|create|write|design|draw up) an? (?:plan|workflow|list)|take a step|step by step");
const WITHIN = (words) => `(?:[^\\s.;:?!]+\\s+){0,${words}}?`;
const DONE = at(`(?:${ORDER}) ${WITHIN(6)}(?:${PART})`);
const COUNT_OF_PARTS = at(`(?:${FEW}) ${WITHIN(2)}(?:${PART})`);
const WISH_OF_PART = at(`(?:an?|some) ${WITHIN(2)}(?:${PART})`);
const REFUSED = at(`(?:do not|don'?t|never|no need (?:to|for)|no-?body (?:has|needs) to|no-?one (?:has|needs) to|(?:i|we|you|it) (?:do not|don'?t|doesn'?t) (?:need|want)(?: to)?|stop|skip|without|no|no more|drop|leave out|forget) `
  + `(?:any |the |a |an |all |that )?(?:${CHECKING}|${PART})`);
const CHECKED = at(`(?:(?:${CHECKING}) (?:it|them|this|that|the|all|both|its|every|each)?\\s*(?:${WITHIN(1)}(?:answers?|results?|numbers?|outputs?|sources?|figures?|facts?|claims?|drafts?|sums?|steps?)|twice|again|$)`
  + `|(?:some(?:body|one)|have (?:some(?:body|one)|it|them|the)|let (?:some(?:body|one))) .*(?:${CHECKING}))`);
const SUBJECT = `(?:the |our |both |all |this |these |your )*(?:steps? \\d+(?:(?:,| and|,? to|-) ?(?:step )?\\d+)*|(?:first|second|third|fourth|fifth|last|final|next) (?:step|reader|writer|worker)s?`
  + `|(?:verifier|reader|reviewer|checker|critic|editor|writer|worker|step|check|plan|workflow)s?)`;
const OBLIGED = at(`(?:(?:in|for|at|before|after) )?step \\d+\\s*[:,]\\s*|${SUBJECT} ${WITHIN(1)}(?:should|must|needs?|has|have|ought|may|can|could|reads?|sees?|goes|go`
  + `|(?:is|are|isn'?t|aren'?t) (?:not )?(?:too|missing|needed|necessary|unnecessary|superfluous|redundant|useless|wrong|enough))|(?:an?|another) ${WITHIN(1)}(?:${PART}) (?:would|might|could)`);
const WISHED = at(`(?:can|could|should|may|shall|what if) ${SUBJECT} ${WITHIN(2)}(?:see|read|check|use|get|know|write|work|run|come|wait|be|have)s?`);
const ADDED = at("(?:add|insert|introduce|include|bring in) an? (?:.* )?(?:translator|summari[sz]er|planner|tester|coder|programmer|mathematician|expert|analyst|historian|lawyer|specialist|moderator|referee|"
  + "(?:.* )?(?:at the end|at the beginning|at the start|in between|in the middle|before (?:it|that|the)|after (?:it|that|the)))|(?:remove|delete|drop|skip) (?:no\\.? ?|number )?\\d+$|(?:read|check|solve|answer) (?:it )?twice");
const PEOPLE = new RegExp(`\\b(?:${NUMBER}|another) (?:people|persons?|models?|experts?) (?:to )?(?:read|check|look|write|verify|answer|solve)\\b`, "i");
const ORDERED = /^(?:parallel|sequential)\b|\b(?:(?:in )?parallel|at the same time|in sequence|one after (?:the other|another)|side by side|independently(?: of (?:each|one) (?:other|another))?)[.!]?$/i;

const LONG = 60;                                            // words: more than is written about a plan

// `workers` are the pool's. A worker whose name is a word like any other does not count by that alone.
export function meaningOf(text, workers = []) {
  const words = text.trim().replace(/\s+/g, " ").replaceAll("’", "'");
  if (!words || words.split(" ").length > LONG) return "ask";
  let order = words, before = "";
  while (order !== before) [before, order] = [order, order.replace(MANNERS, "").replace(/^[\s,:]+/, "")];
  if (!order || ELSE.test(order)) return "ask";
  // "Have the readers come?" has the words of an order.
  const asks = order === words && words.endsWith("?"), is = (...signs) => signs.some((sign) => sign.test(order));
  if (is(COUNT_OF_PARTS) || (!asks && is(DONE, REFUSED, CHECKED, ADDED, PEOPLE)) || WISHED.test(words)) return "change";
  if (order !== words && WISH_OF_PART.test(order)) return "change";
  if (QUESTION.test(words)) return "ask";
  if (OBLIGED.test(words) || REFUSED.test(words)) return "change";
  const named = workers.some((name) => /[^a-z]/i.test(name) && order.toLowerCase().includes(name.toLowerCase()));
  const count = words.split(" ").length;
  if (named && !asks && (count <= 6 || at(`${ORDER}|ask|${WITHIN(1)}(?:should|must|could)`).test(order))) return "change";
  return ORDERED.test(words) && !asks && count <= 12 ? "change" : "ask";
}
