"""Plans in which nothing is amiss, of the kinds that Conductors write: one step, chains, independent
attempts with an aggregator, planner, executor and verifier, trees.

Many use words that a careless check would stumble over. A plan is a list of (worker, instruction, access).
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor.workflow.model import Step, Workflow

Lines = list[tuple[str, str, tuple[int, ...]]]

_PLANS: Mapping[str, Lines] = {
    "one fact": [("facts", "Name the capital of Mongolia in one sentence.", ())],
    "one calculation": [("maths", "Compute 17 % of 2,340 and show each line of the working.", ())],
    "one step about a quoted answer": [
        ("writer", "Say what is wrong with the previous answer that the question quotes.", ())
    ],
    "one step for a text of the question": [
        ("writer", "Shorten the text above to two sentences and keep the author's tone.", ())
    ],
    "one step that checks by itself": [
        ("maths", "Solve the equation, check the answer by substitution, and state it.", ())
    ],
    "one step with the answer above the line": [
        ("writer", "Write the working first and put the answer above the working, in bold.", ())
    ],
    "one step about the previous year": [
        ("analyst", "Compare the revenue with that of the previous year and the year before.", ())
    ],
    "one recurrence": [
        (
            "maths",
            "Compute each term from the previous result until the result differs by less than 1e-6.",
            (),
        )
    ],
    "solve and check": [
        ("maths", "Solve the problem and show the working.", ()),
        ("checker", "Check the result by an independent way, and give the answer.", (0,)),
    ],
    "solve and check, in the words of models": [
        ("gemini-2.5-pro", "Solve the integral step by step.", ()),
        (
            "gpt-5",
            "Review the previous answer carefully, correct any mistake, and output the final answer only.",
            (0,),
        ),
    ],
    "draft and polish": [
        ("writer", "Draft a cover letter of 200 words for the position in the question.", ()),
        ("editor", "Polish the draft above: shorter sentences, no clichés, same facts.", (0,)),
    ],
    "independent attempts": [
        ("alpha", "Solve the problem independently and show your reasoning.", ()),
        ("beta", "Solve the problem independently and show your reasoning.", ()),
        ("gamma", "Solve the problem independently and show your reasoning.", ()),
        (
            "alpha",
            "Compare the three attempts, find where they part, and give the correct answer.",
            (0, 1, 2),
        ),
    ],
    "independent attempts from several sides": [
        ("alpha", "Work independently: argue which of the two suits a mountain hut, from the cold.", ()),
        ("beta", "Work independently: argue which of the two suits a mountain hut, from the cost.", ()),
        (
            "alpha",
            "Compare the attempts that you see, settle where they differ, and write one answer.",
            (0, 1),
        ),
    ],
    "attempts without regard to others": [
        ("alpha", "Estimate the number of piano tuners in Chicago.", ()),
        ("beta", "Estimate it from demand, without looking at the previous answer.", ()),
        ("gamma", "Estimate it from supply, independently of the other attempts.", ()),
        ("alpha", "Weigh the three estimates and state one number with its uncertainty.", (0, 1, 2)),
    ],
    "planner, executor, verifier": [
        ("alpha", "Plan how to count the coverings, such as by a recurrence; do not count yet.", ()),
        ("beta", "Follow the plan that you see and count, showing the working.", (0,)),
        (
            "gamma",
            "Verify plan and count on small boards, correct what is wrong, and state the number.",
            (0, 1),
        ),
    ],
    "planner and verifier are one in a pool of two": [
        ("alpha", "Plan the proof: name the lemmas and their order.", ()),
        ("beta", "Carry out the plan and write the whole proof.", (0,)),
        ("alpha", "Verify the plan and the proof, and mend every gap.", (0, 1)),
    ],
    "planner, coder, tester, fixer": [
        ("alpha", "Outline an algorithm in O(n log n) and list the edge cases.", ()),
        ("beta", "Implement the outline in Python; read from stdin and write to stdout.", (0,)),
        ("gamma", "Write ten tests for the code, and run them in your head against the edge cases.", (0, 1)),
        ("beta", "Fix the code so that all tests pass, and output the final program only.", (0, 1, 2)),
    ],
    "a chain in which everybody sees everything": [
        ("alpha", "List what the question asks for and what it leaves open.", ()),
        ("beta", "Gather the facts for each point of the list.", (0,)),
        ("gamma", "Write the argument from the facts, point by point.", (0, 1)),
        ("alpha", "Write the final answer; mention what stays open.", (0, 1, 2)),
    ],
    "a long chain": [
        ("alpha", "Extract all dates from the text of the question.", ()),
        ("beta", "Sort the dates and remove repeated ones.", (0,)),
        ("alpha", "Compute the number of days between each date and the previous one.", (1,)),
        ("beta", "Say which gap is the longest, and between which dates.", (2,)),
    ],
    "two branches that meet": [
        ("alpha", "Summarise the case for the reform.", ()),
        ("beta", "Summarise the case against the reform.", ()),
        ("gamma", "Find the strongest objection to the case for it.", (0,)),
        ("delta", "Find the strongest objection to the case against it.", (1,)),
        ("alpha", "Judge the debate and give a balanced recommendation.", (0, 1, 2, 3)),
    ],
    "a debate in rounds": [
        ("alpha", "Answer the question and give your reasons.", ()),
        ("beta", "Answer the question and give your reasons.", ()),
        ("alpha", "Read the other answer and revise your own where it convinces you.", (0, 1)),
        ("beta", "Read the other answer and revise your own where it convinces you.", (0, 1)),
        ("gamma", "Decide by the better reasons and state the final answer.", (2, 3)),
    ],
    "translate and proofread": [
        ("translator", "Translate the poem into English, line by line.", ()),
        ("editor", "Proofread the translation against the original in the question.", (0,)),
    ],
    "facts of several countries": [
        ("facts", "France: state the facts that the comparison needs.", ()),
        ("facts", "Germany: state the facts that the comparison needs.", ()),
        ("facts", "Spain: state the facts that the comparison needs.", ()),
        ("text", "Compare France, Germany and Spain: merge the answers into one, point by point.", (0, 1, 2)),
    ],
    "multiple choice": [
        ("alpha", "Decide between A, B, C and D, and explain why the other answers are wrong.", ()),
        ("beta", "Argue against the choice that you see; if it stands, repeat its letter.", (0,)),
    ],
    "multiple choice by elimination": [
        ("alpha", "Explain what each of the answers A to D would imply.", ()),
        ("beta", "Eliminate the answers that contradict the data in the question.", ()),
        ("gamma", "Name the letter that is left, with one reason.", (0, 1)),
    ],
    "chemistry": [
        ("alpha", "Compute the pH of the first solution.", ()),
        ("beta", "Compute the pH after the two solutions of acid and base are combined.", (0,)),
        ("gamma", "Verify the results with the Henderson-Hasselbalch equation.", (0, 1)),
    ],
    "quadratic equation": [
        ("alpha", "Find both solutions of the equation over the complex numbers.", ()),
        ("beta", "Compare the two solutions of the equation with the sum and product of its roots.", (0,)),
    ],
    "history of attempts": [
        ("facts", "List the previous attempts to reform the calendar, with their dates.", ()),
        ("facts", "List the reasons historians give for the failure of earlier proposals.", ()),
        ("writer", "Write an essay of 400 words from the list and the reasons.", (0, 1)),
    ],
    "literature": [
        ("alpha", "Summarise previous work on sparse attention in five bullet points.", ()),
        ("beta", "Check which of the methods need custom kernels.", (0,)),
        ("alpha", "Recommend one method for a single GPU, with the trade-offs.", (0, 1)),
    ],
    "a student's work": [
        ("alpha", "Check the student's previous answer line by line and mark the first mistake.", ()),
        ("beta", "Write feedback for the student that explains the mistake kindly.", (0,)),
    ],
    "a mail thread": [
        ("alpha", "List the open requests in the earlier replies of the thread.", ()),
        ("beta", "Draft a reply to the last mail that settles each open request.", (0,)),
    ],
    "code from the question": [
        ("alpha", "Explain what the code above does and where it is slow.", ()),
        ("beta", "Rewrite the code of the question so that it is fast; keep its interface.", (0,)),
        ("gamma", "Check the new code against the old one on edge cases and output the better one.", (0, 1)),
    ],
    "a derivation": [
        ("alpha", "Derive the formula; every line shall follow from the previous step.", ()),
        ("beta", "Check the derivation: name for each line the rule used in the previous step.", (0,)),
    ],
    "a cooking recipe": [
        ("alpha", "Write a recipe for four; say in step 3 what to do with the result of step 2.", ()),
        ("beta", "Compute the calories a portion.", (0,)),
        ("gamma", "Put recipe and calories on one card.", (0, 1)),
    ],
    "a glycolysis question": [
        ("alpha", "Explain the result of the first step of glycolysis and its enzyme.", ()),
        ("beta", "Check the answer for wrong enzyme names and give the final text.", (0,)),
    ],
    "words in quotation marks": [
        ("alpha", 'Translate "the previous answer was wrong" into French, Latin and Finnish.', ()),
        ("beta", "Check the Latin translation for its grammar and give all three.", (0,)),
    ],
    "steps named by number": [
        ("alpha", "Collect the data of 2019 and 2020.", ()),
        ("beta", "Collect the data of 2021 and 2022.", ()),
        ("gamma", "Use the data from step 1 and step 2 to draw the trend.", (0, 1)),
    ],
    "steps named by number from zero": [
        ("alpha", "Write the function.", ()),
        ("beta", "Write tests for the function.", (0,)),
        ("gamma", "Run the tests of step 1 on the code of step 0 and report.", (0, 1)),
    ],
    "the same worker goes on": [
        ("alpha", "Plan the trip: days and places.", ()),
        ("alpha", "Fill in trains and hotels for the plan.", (0,)),
        ("beta", "Check the plan for connections that cannot be made, and correct it.", (0, 1)),
    ],
    "merge, then translate": [
        ("alpha", "Summarise the first half of the text.", ()),
        ("beta", "Summarise the second half of the text.", ()),
        ("gamma", "Merge both summaries into one of 100 words.", (0, 1)),
        ("delta", "Translate the merged summary into German.", (2,)),
    ],
    "word problem": [
        ("alpha", "Name the unknowns and set up the equations; do not solve them.", ()),
        ("beta", "Solve the equations.", (0,)),
        ("gamma", "Verify the result by substituting it back, and give the answer.", (0, 1)),
    ],
    "logic": [
        ("alpha", "Assume that the first speaker lies and follow all consequences.", ()),
        ("beta", "Assume that the first speaker tells the truth and follow all consequences.", ()),
        (
            "gamma",
            "Decide which assumption holds, check the answer above all for consistency, answer.",
            (0, 1),
        ),
    ],
    "data": [
        ("alpha", "Evaluate the integral of the density between the previous quartile and the median.", ()),
        ("beta", "Test the hypothesis at the 5 % level, given the data in the question.", ()),
        ("gamma", "Report both results in APA style.", (0, 1)),
    ],
    "five steps": [
        ("alpha", "Identify the theorem that applies.", ()),
        ("beta", "Apply the theorem to the case at hand.", (0,)),
        ("gamma", "Work out the numerical value to six digits.", (1,)),
        ("delta", "Estimate the value roughly by another method.", ()),
        ("alpha", "If value and estimate agree, give the value; else say which is wrong and why.", (2, 3)),
    ],
}


def workflow_of(lines: Lines) -> Workflow:
    """The workflow that a plan's lines say."""
    return Workflow.of(Step(instruction=said, worker=worker, access=access) for worker, said, access in lines)


FINE: Mapping[str, Workflow] = {name: workflow_of(lines) for name, lines in _PLANS.items()}
