// What a text is taken for where a workflow is shown: a question, or a change of the plan.

import assert from "node:assert/strict";
import { test } from "node:test";

import { meaningOf } from "../../../../../pages/components/workbench/question/meaning.js";

const WORKERS = ["critic-7b", "gpt-5", "mathematics", "text"];

const CHANGES = [
  "use two readers", "Use two readers and no verifier.", "no verifier", "add a step that checks", "give step 3 to X",
  "Please use two readers", "could you use two readers?", "Can we drop the verifier?", "what about a second reader?",
  "how about two readers instead", "why not let another model check it?", "I'd like a step that checks the numbers",
  "we don't need the verifier", "don't verify", "skip the check", "without a reviewer", "fewer steps",
  "at most three steps", "just one step", "three readers instead of two", "another reviewer",
  "one more reader, please", "step 2 should read step 1", "the last step should be shorter",
  "The writer must not see step 1", "swap steps 1 and 2", "merge the first two steps",
  "split the research into two steps", "have somebody double-check the numbers", "double-check the result",
  "verify the answer", "let the critic see the first output", "make step 2 shorter", "Move the check to the end",
  "replace the calculator worker by gpt-5", "run them in parallel", "read both countries in parallel",
  "give it to critic-7b", "gpt-5 should write the answer", "let gpt-5 do the writing", "get rid of step 4",
  "Leave out the editor", "maybe use another model for the end", "I think we should drop step 2",
  "no need for a verifier", "step 3 is too long", "use a stronger model for step 2",
  "put a gate before the last step", "two independent solvers and a judge", "simplify the plan",
  "turn the chain into three readers", "insert a fact check before the writer", "only one worker",
  "Let’s have a second opinion", "this workflow needs a check", "I want you to add a reader for Chad",
  "steps 1 and 2 should not see each other", "instead, use one reader", "USE TWO READERS", "ditch the reviewer",
  "stop checking the result", "break step 2 into two", "connect step 1 to step 4", "end with a step that translates",
  "a verifier would be nice", "I don't want a verifier", "we should have two people read it",
  "let two models read independently", "the check is unnecessary", "more readers", "one reader is enough",
  "could the editor also see step 2?", "should step 3 read step 1 as well?", "what if step 2 read step 1",
  "give the last step to gpt-5", "assign step 2 to a stronger model", "use gpt-5 everywhere", "use only gpt-5",
  "switch to gpt-5", "everything by gpt-5", "let the editor write in German", "step 4: shorter",
  "in step 2, ask for sources", "rewrite step 2", "reword the instruction of step 1", "rename step 2",
  "change the instruction of step 2 to 'List the rivers'", "edit step 2", "also check the sources",
  "make it parallel", "parallel, not sequential", "do not use critic-7b", "avoid critic-7b", "no critic-7b",
  "drop critic-7b", "2 readers", "3 readers, 1 writer", "+1 reader", "remove 2", "delete 3", "add verification",
  "include verification", "add a translator", "add a summary at the end", "introduce a judge",
  "the workflow is too long", "this plan has too many steps", "too many steps", "I'd rather have one step",
  "is it possible to add a reader?",
];

const QUESTIONS = [
  "", "   ", "?", "What is 17 * 23?", "Which country is larger, Peru or Chad?", "What about Peru?", "And in 2020?",
  "Why?", "How many readers does the library have?", "What does step 2 do?", "Why is there a verifier?",
  "Is the answer verified?", "Could you explain step 2?", "Explain step 3", "Compare France, Japan and Brazil",
  "Give me three steps to learn chess", "Give us two examples", "Make a plan for a birthday party",
  "Plan a birthday party for ten children", "Make me a list of steps", "Write a story about two readers",
  "Write a review of this book", "Add 17 and 23", "Use Python to compute 2^100", "Use mathematics to explain music",
  "Use a model of supply and demand to explain inflation", "Check whether 17 is prime",
  "Check my essay for mistakes", "Translate it into German", "Summarise the answer in two sentences",
  "Shorter, please", "Tell me more about Chad", "Who wrote the text?", "Do both have a coast?",
  "Remove the duplicates from 1, 1, 2", "Split 100 euros between three people", "Let x be 3. What is 2x?",
  "Have you seen the film?", "Can pandas read Excel files?", "Should I drop out of school?", "no",
  "Two trains leave at noon. When do they meet?", "Replace x by 4 in x + 2", "Swap the first two letters of 'word'",
  "Which model should I use for translation?", "How do I add a step to a Jenkins pipeline?",
  "Run a marathon: how to train?", "Is there a gate in Troy?", "Put these words in order: b a c",
  "The capital of France is Paris. Is it large?", "Take the square root of 2",
  "What can the workers of Amazon do about low pay?", "Is tea healthy?", "answer in German",
  "why do we need a verifier?", "explain why step 2 reads step 1", "who is the critic in step 2?",
  "Which step is the slowest?", "How long did step 2 take?", "What did the editor write?", "Steps to bake bread",
  "step by step, explain gravity", "Explain step by step how rain forms", "Think step by step",
  "Check the weather in Lima", "Review the movie Dune", "Have the readers liked the book?",
  "Make a workflow for onboarding new workers", "List the steps of mitosis", "What are the steps to make cheese?",
  "Use simple words", "Name two editors of the NYT", "take a step back and explain",
  "Find two agents who sell houses", "Cut the cake into eight pieces: how many cuts?", "Give two reasons",
  "Do I need a lawyer?", "I need a good editor for Python", "I want to be a writer",
  "we need more workers in the factory. how many?", "Change the oil: what steps?",
  "Run me through the steps of a heist",
];

for (const text of CHANGES) test(`“${text}” is a change`, () => assert.equal(meaningOf(text, WORKERS), "change"));
for (const text of QUESTIONS) test(`“${text}” is a question`, () => assert.equal(meaningOf(text, WORKERS), "ask"));

test("a long text is a question, whatever it begins with", () => {
  assert.equal(meaningOf(`Use two readers. ${"And so on. ".repeat(30)}`, WORKERS), "ask");
});

test("a worker counts by its name where it is in the pool alone", () => {
  assert.deepEqual(["gemma-7b", "llama-9b"].map((name) => meaningOf("give it to gemma-7b", [name])), ["change", "ask"]);
});
