"""Plans in which nothing is amiss, of the kinds that Conductors write: one step, chains, independent
attempts with an aggregator, planner, executor and verifier, trees.

Many use words that a careless check would stumble over.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor.workflow.model import Step, Workflow

Lines = list[tuple[str, str, tuple[int, ...]]]
"""A plan's steps as (worker, instruction, access)."""

# A name, then a line a step: its worker, behind "<" the steps that it reads, and its instruction.
_PLANS = """
# one fact
facts: Name the capital of Mongolia in one sentence.
# one calculation
maths: Compute 17 % of 2,340 and show each line of the working.
# one step about a quoted answer
writer: Say what is wrong with the previous answer that the question quotes.
# one step for a text of the question
writer: Shorten the text above to two sentences and keep the author's tone.
# one step that checks by itself
maths: Solve the equation, check the answer by substitution, and state it.
# one step with the answer above the line
writer: Write the working first and put the answer above the working, in bold.
# one step about the previous year
analyst: Compare the revenue with that of the previous year and the year before.
# one recurrence
maths: Compute each term from the previous result until the result differs by less than 1e-6.
# solve and check
maths: Solve the problem and show the working.
checker < 0: Check the result by an independent way, and give the answer.
# solve and check, in the words of models
gemini-2.5-pro: Solve the integral step by step.
gpt-5 < 0: Review the previous answer carefully, correct any mistake, and output the final answer only.
# draft and polish
writer: Draft a cover letter of 200 words for the position in the question.
editor < 0: Polish the draft above: shorter sentences, no clichés, same facts.
# independent attempts
alpha: Solve the problem independently and show your reasoning.
beta: Solve the problem independently and show your reasoning.
gamma: Solve the problem independently and show your reasoning.
alpha < 0 1 2: Compare the three attempts, find where they part, and give the correct answer.
# independent attempts from several sides
alpha: Work independently: argue which of the two suits a mountain hut, from the cold.
beta: Work independently: argue which of the two suits a mountain hut, from the cost.
alpha < 0 1: Compare the attempts that you see, settle where they differ, and write one answer.
# attempts without regard to others
alpha: Estimate the number of piano tuners in Chicago.
beta: Estimate it from demand, without looking at the previous answer.
gamma: Estimate it from supply, independently of the other attempts.
alpha < 0 1 2: Weigh the three estimates and state one number with its uncertainty.
# planner, executor, verifier
alpha: Plan how to count the coverings, such as by a recurrence; do not count yet.
beta < 0: Follow the plan that you see and count, showing the working.
gamma < 0 1: Verify plan and count on small boards, correct what is wrong, and state the number.
# planner and verifier are one in a pool of two
alpha: Plan the proof: name the lemmas and their order.
beta < 0: Carry out the plan and write the whole proof.
alpha < 0 1: Verify the plan and the proof, and mend every gap.
# planner, coder, tester, fixer
alpha: Outline an algorithm in O(n log n) and list the edge cases.
beta < 0: Implement the outline in Python; read from stdin and write to stdout.
gamma < 0 1: Write ten tests for the code, and run them in your head against the edge cases.
beta < 0 1 2: Fix the code so that all tests pass, and output the final program only.
# a chain in which everybody sees everything
alpha: List what the question asks for and what it leaves open.
beta < 0: Gather the facts for each point of the list.
gamma < 0 1: Write the argument from the facts, point by point.
alpha < 0 1 2: Write the final answer; mention what stays open.
# a long chain
alpha: Extract all dates from the text of the question.
beta < 0: Sort the dates and remove repeated ones.
alpha < 1: Compute the number of days between each date and the previous one.
beta < 2: Say which gap is the longest, and between which dates.
# two branches that meet
alpha: Summarise the case for the reform.
beta: Summarise the case against the reform.
gamma < 0: Find the strongest objection to the case for it.
delta < 1: Find the strongest objection to the case against it.
alpha < 0 1 2 3: Judge the debate and give a balanced recommendation.
# a debate in rounds
alpha: Answer the question and give your reasons.
beta: Answer the question and give your reasons.
alpha < 0 1: Read the other answer and revise your own where it convinces you.
beta < 0 1: Read the other answer and revise your own where it convinces you.
gamma < 2 3: Decide by the better reasons and state the final answer.
# translate and proofread
translator: Translate the poem into English, line by line.
editor < 0: Proofread the translation against the original in the question.
# facts of several countries
facts: France: state the facts that the comparison needs.
facts: Germany: state the facts that the comparison needs.
facts: Spain: state the facts that the comparison needs.
text < 0 1 2: Compare France, Germany and Spain: merge the answers into one, point by point.
# multiple choice
alpha: Decide between A, B, C and D, and explain why the other answers are wrong.
beta < 0: Argue against the choice that you see; if it stands, repeat its letter.
# multiple choice by elimination
alpha: Explain what each of the answers A to D would imply.
beta: Eliminate the answers that contradict the data in the question.
gamma < 0 1: Name the letter that is left, with one reason.
# chemistry
alpha: Compute the pH of the first solution.
beta < 0: Compute the pH after the two solutions of acid and base are combined.
gamma < 0 1: Verify the results with the Henderson-Hasselbalch equation.
# quadratic equation
alpha: Find both solutions of the equation over the complex numbers.
beta < 0: Compare the two solutions of the equation with the sum and product of its roots.
# history of attempts
facts: List the previous attempts to reform the calendar, with their dates.
facts: List the reasons historians give for the failure of earlier proposals.
writer < 0 1: Write an essay of 400 words from the list and the reasons.
# literature
alpha: Summarise previous work on sparse attention in five bullet points.
beta < 0: Check which of the methods need custom kernels.
alpha < 0 1: Recommend one method for a single GPU, with the trade-offs.
# a student's work
alpha: Check the student's previous answer line by line and mark the first mistake.
beta < 0: Write feedback for the student that explains the mistake kindly.
# a mail thread
alpha: List the open requests in the earlier replies of the thread.
beta < 0: Draft a reply to the last mail that settles each open request.
# code from the question
alpha: Explain what the code above does and where it is slow.
beta < 0: Rewrite the code of the question so that it is fast; keep its interface.
gamma < 0 1: Check the new code against the old one on edge cases and output the better one.
# a derivation
alpha: Derive the formula; every line shall follow from the previous step.
beta < 0: Check the derivation: name for each line the rule used in the previous step.
# a cooking recipe
alpha: Write a recipe for four; say in step 3 what to do with the result of step 2.
beta < 0: Compute the calories a portion.
gamma < 0 1: Put recipe and calories on one card.
# a glycolysis question
alpha: Explain the result of the first step of glycolysis and its enzyme.
beta < 0: Check the answer for wrong enzyme names and give the final text.
# words in quotation marks
alpha: Translate "the previous answer was wrong" into French, Latin and Finnish.
beta < 0: Check the Latin translation for its grammar and give all three.
# steps named by number
alpha: Collect the data of 2019 and 2020.
beta: Collect the data of 2021 and 2022.
gamma < 0 1: Use the data from step 1 and step 2 to draw the trend.
# steps named by number from zero
alpha: Write the function.
beta < 0: Write tests for the function.
gamma < 0 1: Run the tests of step 1 on the code of step 0 and report.
# the same worker goes on
alpha: Plan the trip: days and places.
alpha < 0: Fill in trains and hotels for the plan.
beta < 0 1: Check the plan for connections that cannot be made, and correct it.
# merge, then translate
alpha: Summarise the first half of the text.
beta: Summarise the second half of the text.
gamma < 0 1: Merge both summaries into one of 100 words.
delta < 2: Translate the merged summary into German.
# word problem
alpha: Name the unknowns and set up the equations; do not solve them.
beta < 0: Solve the equations.
gamma < 0 1: Verify the result by substituting it back, and give the answer.
# logic
alpha: Assume that the first speaker lies and follow all consequences.
beta: Assume that the first speaker tells the truth and follow all consequences.
gamma < 0 1: Decide which assumption holds, check the answer above all for consistency, answer.
# data
alpha: Evaluate the integral of the density between the previous quartile and the median.
beta: Test the hypothesis at the 5 % level, given the data in the question.
gamma < 0 1: Report both results in APA style.
# five steps
alpha: Identify the theorem that applies.
beta < 0: Apply the theorem to the case at hand.
gamma < 1: Work out the numerical value to six digits.
delta: Estimate the value roughly by another method.
alpha < 2 3: If value and estimate agree, give the value; else say which is wrong and why.
"""


def workflow_of(lines: Lines) -> Workflow:
    """The workflow of these steps."""
    return Workflow.of(
        Step(instruction=instruction, worker=worker, access=access) for worker, instruction, access in lines
    )


def _plan(text: str) -> Workflow:
    lines: Lines = []
    for line in text.splitlines():
        head, instruction = line.split(": ", maxsplit=1)
        worker, _, reads = head.partition(" <")
        lines.append((worker, instruction, tuple(map(int, reads.split()))))
    return workflow_of(lines)


_NAMED = (plan.partition("\n") for plan in _PLANS.strip().removeprefix("# ").split("\n# "))

FINE: Mapping[str, Workflow] = {name: _plan(text) for name, _, text in _NAMED}
