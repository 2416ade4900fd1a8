"""Prompts that chat pages send on their own, for titles, tags and the like.

Open WebUI and pages like it send, besides the user's questions, prompts that begin with "### Task:"
and end with the chat so far. No memory holds their answer, so none is looked for.
"""

import json
import re

_TASK = "### Task:"
_TITLE_WORDS = 6
_FIRST_QUESTION = re.compile(r"^[^\S\n]*+USER:[^\S\n]*+(\S.*)$", re.MULTILINE | re.IGNORECASE)


def task_answer(prompt: str) -> str | None:
    """The answer to such a prompt, as JSON where it asks for that; None for a user's question."""
    if not prompt.lstrip().startswith(_TASK):
        return None
    # Each names the JSON that it expects; the history below may hold any words.
    task = prompt.split("### Chat History", 1)[0].casefold()
    for key, value in (
        ("follow_ups", []),
        ("queries", []),
        ("tags", ["General"]),
        ("title", _title(prompt)),
    ):
        if f'"{key}"' in task:
            return json.dumps({key: value}, ensure_ascii=False)
    return _title(prompt) if "title" in task else ""


def _title(prompt: str) -> str:
    """The first words of the chat's first question."""
    found = _FIRST_QUESTION.search(prompt)
    words = found[1].split() if found else []
    return " ".join(words[:_TITLE_WORDS]).rstrip("?.,:;!") or "Chat"
