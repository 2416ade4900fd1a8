"""Finds regular expressions that can take more than linear time, and those that 3.11.2 gets wrong.

A pattern backtracks through all ways to match a text before it fails. It takes linear time if there
are never many ways, which can be read from its automaton (Weideman et al. 2016, "Analyzing matching
time behavior of backtracking regular expression matchers by using ambiguity of NFA"): many ways
need states p and q with paths p to p, p to q and q to q that read the same word.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import permutations, product

_LOOP = 100  # more repetitions than this are like any number
_ALPHABET = "".join(map(chr, range(128))) + "éİ\xa0\u2028“”’•—"
_PIECE = re.compile(
    r"\\(?:N\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)|\[\^?\]?(?:\\.|[^\]\\])*\]|"
    r"\(\?(?:[=!>]|<[=!]|:|P<\w+>|P=\w+\)|[aimsux-]+[:)]|\(\w+\))|[*+?][+?]?|\{\d*,?\d*\}[+?]?|.",
    re.DOTALL,
)

Condition = Callable[[str, str], bool]  # of the characters before and after a place; "" at the ends
State = int
_SEARCH: State = 0  # reads what stands before the match


@dataclass(frozen=True)
class Entry:
    """A way to a state, or to the end of the pattern."""

    state: State
    conditions: tuple[Condition, ...] = ()

    def under(self, conditions: Iterable[Condition]) -> "Entry":
        return Entry(self.state, (*conditions, *self.conditions))


@dataclass(frozen=True)
class Part:
    """A part of a pattern: where it begins and ends, and how nothing can match it."""

    first: tuple[Entry, ...] = ()
    last: tuple[Entry, ...] = ()
    empty: tuple[tuple[Condition, ...], ...] = ()


@dataclass
class Pattern:
    """The automaton of a pattern, whose states are its characters and classes."""

    text: str
    flags: int
    sets: dict[State, frozenset[str]] = field(default_factory=dict)
    edges: dict[State, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    greedy: set[State] = field(default_factory=set)  # loops that give nothing back
    faults: list[str] = field(default_factory=list)
    _moves: dict[tuple[State, str], dict[str, set[State]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pieces = _PIECE.findall(self.text)
        self._at = 0
        self.sets[_SEARCH] = frozenset(_ALPHABET)
        self.whole = self._alternatives()
        assert self._at == len(self._pieces), f"{self.text} at piece {self._at}"

    def _alternatives(self) -> Part:
        parts = [self._sequence()]
        while self._next() == "|":
            self._at += 1
            parts.append(self._sequence())
        return Part(
            tuple(entry for part in parts for entry in part.first),
            tuple(entry for part in parts for entry in part.last),
            tuple(empty for part in parts for empty in part.empty),
        )

    def _sequence(self) -> Part:
        whole = Part(empty=((),))
        while self._next() not in ("", "|", ")"):
            whole = self._joined(whole, self._repeated())
        return whole

    def _joined(self, one: Part, other: Part) -> Part:
        for end in one.last:
            for start in other.first:
                self._link(end.state, start.under(end.conditions))
        return Part(
            one.first + tuple(start.under(c) for c in one.empty for start in other.first),
            other.last + tuple(end.under(c) for c in other.empty for end in one.last),
            tuple((*a, *b) for a in one.empty for b in other.empty),
        )

    def _link(self, state: State, entry: Entry) -> None:
        if entry in self.edges[state]:
            self.faults.append("a repetition is repeated")
        self.edges[state].append(entry)

    def _repeated(self) -> Part:
        begun = len(self.sets)
        part = self._single()
        piece = self._next()
        if not re.fullmatch(r"[*+?][+?]?|\{\d+,?\d*\}[+?]?|\{,\d+\}[+?]?", piece):
            return part
        self._at += 1
        least, most = {"*": (0, _LOOP), "+": (1, _LOOP), "?": (0, 1)}.get(piece[0], (0, 0))
        if piece[0] == "{":
            lowest, comma, highest = piece.strip("{}+?").partition(",")
            least = int(lowest or 0)
            most = int(highest or _LOOP) if comma else least
        if piece.endswith("+") and len(piece) > 1:
            if len(self.sets) - begun != 1:
                self.faults.append("possessive, of more than one character")
            self.greedy.add(begun)
        if most >= _LOOP:
            for end in part.last:
                for start in part.first:
                    self._link(end.state, start.under(end.conditions))
        return part if least else Part(part.first, part.last, (*part.empty, ()))

    def _single(self) -> Part:
        piece = self._next()
        self._at += 1
        if condition := self._condition(piece):
            return Part(empty=((condition,),))
        if re.fullmatch(r"\(\?[^(].*\)|\\[1-9]", piece):
            return Part(empty=((),))  # flags; what a group matched, which may be nothing
        if not piece.startswith("("):
            state = len(self.sets)
            self.sets[state] = _characters(piece, self.flags)
            return Part((Entry(state),), (Entry(state),))
        begun = len(self.sets)
        part = self._alternatives()
        assert self._next() == ")", f"{self.text}: {piece} is not closed"
        self._at += 1
        made = len(self.sets) - begun
        if piece == "(?>" and made != 1:
            self.faults.append("an atomic group of more than one character")
        if piece in ("(?=", "(?!", "(?<=", "(?<!"):
            return self._looking(piece, part, self.sets[begun] if made == 1 else None)
        return part

    def _looking(self, piece: str, part: Part, single: frozenset[str] | None) -> Part:
        conditions: tuple[Condition, ...] = ()
        behind, negative = "<" in piece, "!" in piece
        if single is not None and not part.empty:
            characters = single

            def holds(before: str, after: str) -> bool:
                return ((before if behind else after) in characters) is not negative

            conditions = (holds,)
        # What is looked at ahead is read, as an end of its own.
        return Part(() if behind else part.first, (), (conditions,))

    def _condition(self, piece: str) -> Condition | None:
        lines = self.flags & re.MULTILINE
        return {
            "^": lambda before, _: before == "" or (bool(lines) and before == "\n"),
            "$": lambda _, after: after == "" or (bool(lines) and after == "\n"),
            r"\A": lambda before, _: before == "",
            r"\Z": lambda _, after: after == "",
            r"\b": lambda before, after: _is_word(before) is not _is_word(after),
            r"\B": lambda before, after: _is_word(before) is _is_word(after),
        }.get(piece)

    def _next(self) -> str:
        return self._pieces[self._at] if self._at < len(self._pieces) else ""

    @cached_property
    def classes(self) -> list[str]:
        """A character of each kind that the pattern tells from others."""
        kinds = {
            (tuple(c in found for found in self.sets.values()), _is_word(c), c == "\n"): c
            for c in _ALPHABET
        }
        return list(kinds.values())

    @cached_property
    def reached(self) -> dict[State, set[State]]:
        """The states that come after each, at once or later."""
        return {state: self._reached(state) for state in list(self.sets)}

    def _reached(self, state: State) -> set[State]:
        seen: set[State] = set()
        waiting = [state]
        while waiting:
            following = {entry.state for entry in self.edges[waiting.pop()]} - seen
            seen |= following
            waiting += following
        return seen

    def moves(self, state: State, before: str) -> dict[str, set[State]]:
        """The states that come at once after one, by the characters that they read."""
        known = self._moves.get((state, before))
        if known is None:
            known = self._moves[state, before] = defaultdict(set)
            for entry, character in product(self.edges[state], self.classes):
                forced = state in self.greedy and character in self.sets[state]
                if (
                    character in self.sets[entry.state]
                    and (entry.state == state or not forced)
                    and all(holds(before, character) for holds in entry.conditions)
                ):
                    known[character].add(entry.state)
        return known

    def may_end(self, state: State, before: str, after: str) -> bool:
        """Whether a match may end after a state, between two characters."""
        return any(
            end.state == state and all(holds(before, after) for holds in end.conditions)
            for end in self.whole.last
        )

    def has_many_ways(self, p: State, q: State) -> bool:
        """Whether one word leads from p to p, from p to q and from q to q.

        What leads from q to q is no end of a match, if p reads what stands before one: the search
        goes on behind it.
        """
        if q not in self.reached[p]:
            return False
        shared = self.sets[p] & self.sets[q]
        begun = {(p, p, q, c) for c in self.classes if c in shared}
        seen, waiting = set(begun), list(begun)
        goals = (p, q, q)
        while waiting:
            *states, before = waiting.pop()
            moves = [
                {
                    character: [one for one in after if goal == one or goal in self.reached[one]]
                    for character, after in self.moves(state, before).items()
                }
                for state, goal in zip(states, goals, strict=True)
            ]
            for character, after in moves[0].items():
                if p == _SEARCH and self.may_end(states[2], before, character):
                    continue
                others = (moves[1].get(character, ()), moves[2].get(character, ()))
                for following in product(after, *others, character):
                    if following[:3] == goals:
                        return True
                    if following not in seen:
                        seen.add(following)
                        waiting.append(following)
        return False

    def shown(self, *states: State) -> str:
        """Some of the characters that all the states read."""
        characters = frozenset.intersection(*(self.sets[state] for state in states))
        return repr("".join(sorted(characters))[-8:])


def faults(text: str, flags: int = 0, *, search: bool = True, full: bool = True) -> list[str]:
    """Why a pattern is slow, or wrong in some versions of Python.

    Args:
        text: of the pattern.
        flags: of ``re``.
        search: whether it is searched for, not only matched at a place.
        full: whether all that takes more than linear time counts, not only exponential time.
    """
    pattern = Pattern(text, flags)
    found = set(pattern.faults)
    if search and full:
        pattern.edges[_SEARCH] = [Entry(_SEARCH), *pattern.whole.first]
    loops = [
        state for state in pattern.sets if state != _SEARCH and state in pattern.reached[state]
    ]
    for p, q in permutations(loops, 2):
        if (full or p in pattern.reached[q]) and pattern.has_many_ways(p, q):
            found.add(f"two repetitions of {pattern.shown(p, q)}")
    for q in loops:
        if pattern.has_many_ways(_SEARCH, q):
            found.add(f"a search for a repetition of {pattern.shown(q)}")
    return sorted(found)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


@cache
def _characters(piece: str, flags: int) -> frozenset[str]:
    known = re.compile(piece, flags & (re.IGNORECASE | re.DOTALL | re.ASCII))
    return frozenset(c for c in _ALPHABET if known.fullmatch(c))
