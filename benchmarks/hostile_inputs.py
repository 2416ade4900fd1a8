"""Seeded bad inputs: texts and bytes that were valid once, and what is tried on databases."""

import json
from collections.abc import Sequence
from random import Random

TEXTS = (
    "In which town was the builder of the Orre Light born?",
    "The Orre Light, also known as Rank's Candle, is a lighthouse. It was raised in 1912 by Edda.",
    "Ann moved to Paris. She no longer lives in Rome. Forget that Bo has 3 boats!",
    "# Harbour log\n\nKept by Ann.\n\n## Winter\n- Ice.\n\n> Snow.\n\nSummer\n------\n| a | b |\n",
    "Orre Light\tbuilt_by\tEdda Rank\nEdda Rank\tborn in\tKestle\nKestle|lies in|Saltmere\n",
    "1 Mary moved to the bathroom.\n2 John went to the hallway.\n"
    "3 Where is Mary? \tbathroom\t1\n1 Sam is red.\n2 What is Sam?\tred\t1\n",
    '{"id": "a", "title": "Orre", "text": "The Orre Light is old.", "metadata": {"year": 1912}}\n'
    '{"id": 2, "text": "Second."}\n',
    '{"question": "Who built the Orre Light?", "answers": ["Edda Rank"], "gold": ["a"]}\n',
    "Café Ångström, 東京 and Ελλάδα: naïve “quotes” – it’s 5,000.25 m².",
)
_TOKENS = (
    "'", '"', "''", '""', "; DROP TABLE slot; --", "' OR 1=1 --", '" OR "', "*", "^",
    "NEAR(a b, 5)", " AND ", " OR ", " NOT ", "title:", "-", "+", "(", ")", "{", "}", "[", "]",
    "[" * 300, "{" * 300, '{"a":' * 200, "\\", "\\u0000", "\\ud800", "\\udfff", "%", "%s", "%n",
    "_", "?", "?1", ":a", "@a", "$[0]", "\0", "\x01", "\x1b[31m", "\x1f", "\x7f", "\r", "\r\n",
    "\n\n", "\t", "\t\t", " ", "\u00a0", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\ufeff",
    "\u200b", "\u202e", "\ud800", "\udcff", "\U0001f600", "\U0010ffff", "e\u0301" * 9,
    "\u0345" * 30, "İ", "ß", "ﬁ", "ǅ", "Ⅷ", "²", "٣", "../", "../../../etc/passwd", "/etc/passwd",
    "~", "file:///etc/passwd", "NaN", "Infinity", "-1", "0", "1e999", "9" * 30, "9" * 5000,
    "-9223372036854775809", "null", "true", "[]", "{}", "<script>", "${jndi:x}", "```", "---\n",
    "===\n", "# ", "> " * 50, "* " * 50, "![", "](", "&#0;", "1 ", "1 a\n", "2 b?\tc\t1\n", "?\t",
    "\t1 2", "|", "||", "[MASK]", "[CLS]", "[SEP]", "Forget that ", "told/1", ".", "...", ". . .",
    ", also known as ", " is ", "She ", "A" * 3000, "a " * 1500, " " * 3000, "(" * 1000,
    "Aa Bb " * 300, "\n" * 1000, "'s" * 300, "a.b" * 500, "\u0301" * 500,
)  # fmt: skip
"""Quotation marks, operators and statements of SQL and FTS5; numbers at their limits; control,
combining, unpaired and case-changing characters; marks of each format; very long runs."""
_ALPHABETS = (
    (0x20, 0x7E), (0x00, 0x1F), (0x80, 0x24F), (0x300, 0x36F), (0x370, 0x5FF), (0x600, 0x6FF),
    (0x2000, 0x206F), (0x3040, 0x30FF), (0xD7F0, 0xE010), (0xFFF0, 0xFFFF), (0x1F300, 0x1F6FF),
)  # fmt: skip
_MOST_EDITS = 6
_LONGEST_NOISE = 60


def hostile_text(random: Random, seeds: Sequence[str] = TEXTS) -> str:
    """A text of any characters, unpaired surrogates among them."""
    if random.random() < 0.15:
        return _noise(random)
    text = random.choice(seeds)
    for _ in range(random.randint(0, _MOST_EDITS)):
        at, end = sorted(random.randint(0, len(text)) for _ in range(2))
        kind = random.randrange(6)
        if kind == 0:
            text = text[:at] + random.choice(_TOKENS) + text[at:]
        elif kind == 1:
            text = text[:at] + random.choice(_TOKENS) + text[end:]
        elif kind == 2:
            text = text[:at] + text[min(end, at + 8) :]
        elif kind == 3:
            text = text[:at] + _noise(random) + text[at:]
        elif kind == 4:
            text = text[:end] + text[at:end] * random.randint(1, 3) + text[end:]
        else:
            other = random.choice(TEXTS)
            text = text[:at] + other[random.randint(0, len(other)) :]
    return text


def hostile_bytes(random: Random, seeds: Sequence[str] = TEXTS) -> bytes:
    """A hostile text in some encoding, or with its bytes changed."""
    text = hostile_text(random, seeds)
    kind = random.randrange(8)
    if kind == 0:
        return text.encode("utf-16", "surrogatepass")
    if kind == 1:
        return text.encode("latin-1", "replace")
    if kind == 2:
        return text.encode("utf-8", "surrogatepass")
    data = text.encode("utf-8", "replace")
    return changed_bytes(random, data) if kind == 3 else data


def changed_bytes(random: Random, data: bytes) -> bytes:
    """Bytes of a file after some bits flipped, or after a part was lost, doubled or replaced."""
    changed = bytearray(data)
    for _ in range(random.randint(1, _MOST_EDITS)):
        at, end = sorted(random.randint(0, len(changed)) for _ in range(2))
        kind = random.randrange(6)
        if kind <= 2 and changed:
            changed[min(at, len(changed) - 1)] = random.choice((0, 255, random.randrange(256)))
        elif kind == 3:
            del changed[at : end if random.random() < 0.3 else at + 4]
        elif kind == 4:
            changed[at:at] = random.randbytes(random.randint(1, 16))
        else:
            changed[at : at + 8] = random.choice(
                (b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7, b"\x80" + b"\0" * 7)
            )
    return bytes(changed)


def hostile_value(random: Random, depth: int = 0) -> object:
    """A JSON value of any kind."""
    kind = random.randrange(10 if depth < 4 else 8)
    if kind <= 2:
        return hostile_text(random)
    if kind == 3:
        return random.choice((0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**40))
    if kind == 4:
        return random.choice((0.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf"), 1e-320))
    if kind <= 7:
        return random.choice((None, True, False, "", [], {}))
    if kind == 8:
        return [hostile_value(random, depth + 1) for _ in range(random.randint(0, 4))]
    return {hostile_text(random): hostile_value(random, depth + 1) for _ in range(3)}


def changed_json(random: Random, value: object) -> object:
    """A JSON value with some part of it replaced, dropped or added."""
    if isinstance(value, dict) and value and random.random() < 0.85:
        changed = dict(value)
        name = random.choice(list(changed))
        kind = random.randrange(8)
        if kind == 0:
            del changed[name]
        elif kind == 1:
            changed[hostile_text(random)] = hostile_value(random)
        else:
            changed[name] = changed_json(random, changed[name])
        return changed
    if isinstance(value, list) and value and random.random() < 0.85:
        listed = list(value)
        place = random.randrange(len(listed))
        listed[place] = changed_json(random, listed[place])
        return listed[: random.randint(0, len(listed))] if random.random() < 0.2 else listed
    if isinstance(value, str) and random.random() < 0.5:
        return hostile_text(random, [value])
    return hostile_value(random)


def json_line(random: Random, fields: Sequence[str]) -> str:
    """A line with a JSON object that has some of the fields, with values of any kind."""
    value = {name: hostile_value(random) for name in fields if random.random() < 0.8}
    return json.dumps(value, ensure_ascii=random.random() < 0.5)


def _noise(random: Random) -> str:
    first, last = random.choice(_ALPHABETS)
    length = random.randint(0, _LONGEST_NOISE)
    return "".join(chr(random.randint(first, last)) for _ in range(length))
