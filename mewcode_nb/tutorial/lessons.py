"""What the recorded tutorial answers: a lesson to each prompt of the notebooks, else a plain word.

An answer is chosen from the prompt and from what the tools said since, so that a refusal is
answered as a refusal and a number is the number that the code really printed.
"""

from __future__ import annotations

from mewcode_nb.testing.script import Ask, Reply
from mewcode_nb.tutorial import first_steps, sessions
from mewcode_nb.tutorial.talk import say, talk_of

__all__ = ["answer"]


def answer(ask: Ask) -> Reply:
    """The recorded answer to a request."""
    talk = talk_of(ask)
    for words, lesson in (*first_steps.LESSONS.items(), *sessions.LESSONS.items()):
        if words in talk.prompt.lower():
            return lesson(talk)
    return say(
        "I am the recorded tutorial, not a model: I know only the prompts of its notebooks. "
        "Put a key into `ANTHROPIC_API_KEY` (or name a local server) and run "
        "`%mewcode tutorial off` to talk to a model."
    )
