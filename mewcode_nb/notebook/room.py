"""How much of the window a session takes that was just resumed, and whether little is left.

Told once, with its first turn: only then the model's own record of its window is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from mewcode_nb.agent.loop import Agent
from mewcode_nb.events import Notice
from mewcode_nb.messages import JsonObject, Message
from mewcode_nb.model.protocol import Model
from mewcode_nb.notebook.conversation import Conversation
from mewcode_nb.session.records import MessageRecord
from mewcode_nb.session.state import SessionState
from mewcode_nb.tokens import context_tokens, estimate_messages, estimate_request, family_of
from mewcode_nb.widgets.resume_card import near_limit
from mewcode_nb.widgets.resume_words import resume_card_words

__all__ = ["room_notices", "tokens_taken"]


async def room_notices(
    conversation: Conversation, model: Model, name: str, language: str
) -> tuple[Notice, ...]:
    """A notice where the next request of a resumed session comes near the limit of model `name`."""
    state, conversation.resumed = conversation.resumed, None
    if state is None:
        return ()
    limits = await model.limits(name)
    tokens = tokens_taken(conversation.agent, state, name)
    if not near_limit(tokens, limits.window):
        return ()
    share = f"{100 * tokens / limits.window:.0f}"
    words = resume_card_words(language)["near_limit"]
    text = words.format(share=share, tokens=f"{tokens:,}", window=f"{limits.window:,}")
    return (Notice(text, "warning"),)


def tokens_taken(agent: Agent, state: SessionState, name: str) -> int:
    """Tokens of the conversation as model `name` gets it, before the next prompt.

    What the service counted last, and an estimate of what came after; all is an estimate where it
    counted nothing since the last compaction.
    """
    family = family_of(name)
    for place in range(len(state.records) - 1, -1, -1):
        record = state.records[place]
        if record.usage is not None and record.usage.total_input and _counts_now(record, state):
            later = _to_api(state.messages[place + 1 :])
            return context_tokens(record.usage) + estimate_messages(later, family)
    request = agent.request(name, 1)
    return estimate_request(request.system, request.tools, request.messages, family)


def _counts_now(record: MessageRecord, state: SessionState) -> bool:
    """Whether the answer was given to the conversation as it is, not to what was compacted."""
    last = state.offsets[state.compactions[-1].id] if state.compactions else -1
    return state.offsets[record.id] > last


def _to_api(messages: Sequence[Message]) -> list[JsonObject]:
    return [cast("JsonObject", message.to_api()) for message in messages]
