"""JSON that anyone may have written: parsed, and looked into without trust in its types."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from memnet.errors import InputError
from memnet.io import decode

JsonObject: TypeAlias = Mapping[str, Any]

# An escaped backslash, a pair of surrogates, a lone one, which no text can hold.
_SURROGATE = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


def read_json(data: bytes) -> Any:
    """What the bytes of a JSON file hold.

    Raises:
        InputError: they are not JSON, or too deeply nested.
    """
    try:
        return json.loads(
            _SURROGATE.sub(
                lambda found: "\\ufffd" if len(found[0]) == len("\\ud800") else found[0],
                decode(data),
            )
        )
    except json.JSONDecodeError as error:
        raise InputError(
            f"is not JSON at line {error.lineno} ({error.msg.lower()}); export it again, or pass "
            "it with --as text"
        ) from error
    except RecursionError as error:
        raise InputError("is nested too deeply; split it into flat objects") from error
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"is not JSON ({error}); export it again") from error


def objects(data: Any) -> Iterator[JsonObject]:
    """The objects in a list; none if it is something else."""
    return (item for item in data if isinstance(item, dict)) if isinstance(data, list) else iter(())


def inner(data: JsonObject, key: str) -> JsonObject:
    """The object under a key; empty if there is none."""
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def string(value: Any) -> str:
    """A value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def text(data: JsonObject, *keys: str) -> str:
    """The first string under one of the keys that is not empty; empty if there is none."""
    return next(filter(None, (string(data.get(key)) for key in keys)), "")


def part_name(name: str, used: set[str], *keys: Any) -> str:
    """The name of a part of a file: by the first key that is a string, else by its number.

    ``used`` holds the keys of the parts before; this part's is added.
    """
    key = next((key for key in keys if isinstance(key, str) and key), "")
    if not key or key in used:
        key = str(len(used) + 1)
    used.add(key)
    return f"{name}#{key}"
