"""Links: from the slots that were attended to, by the names in them, to others."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memnet.documents.state import BACK, KEY, SHARED
from memnet.storage import MemoryStore, Scope, Symbols
from memnet.text.names import maximal_names

_MOST_SHARING = 20
"""A name that more slots mention links none of them by being mentioned."""
SLOTS_A_SYMBOL = 2000
"""Most slots that one symbol may propose: the facts of a very common entity, or all the windows
of a very long document."""


class Link(NamedTuple):
    """A way from one slot to another."""

    sender: int
    slot: int
    kind: int
    name: str
    mentions: int
    """Slots that mention the name, counted up to one more than may share it."""
    slots: int
    """Slots that are about it."""


class LinkedSlots(NamedTuple):
    """What leads on from attended slots."""

    links: list[Link]
    symbols: Mapping[int, Symbols]
    """Of the attended slots."""


def linked_slots(store: MemoryStore, attended: Sequence[int], scope: Scope) -> LinkedSlots:
    """Follow the names of some slots: those that they mention, and those that they are about.

    Of several names that link two slots in one way, the one that the fewest slots mention counts.
    """
    if not attended:
        return LinkedSlots([], {})
    symbols = store.symbols(attended)
    mentioned = {name for slot in symbols.values() for name in slot.values}
    keyed = store.search_symbolic(mentioned, SLOTS_A_SYMBOL, scope)
    about = {name for slot in symbols.values() for name in slot.keys}
    sharing = store.search_mentions(mentioned | about, _MOST_SHARING, scope)
    best: dict[tuple[int, int, int], Link] = {}
    for sender, own in symbols.items():
        whole = maximal_names(name for name in own.values if name in keyed and name not in own.keys)
        for kind, names, reached in (
            (KEY, whole, keyed), (SHARED, own.values, sharing), (BACK, own.keys, sharing),
        ):  # fmt: skip
            for name in names:
                mentions = len(sharing.get(name, ())) or _MOST_SHARING + 1
                for slot in reached.get(name, ()):
                    place = sender, slot, kind
                    other = best.get(place)
                    if slot != sender and (other is None or _rarer(name, mentions, other)):
                        about_it = len(keyed.get(name, ()))
                        best[place] = Link(sender, slot, kind, name, mentions, about_it)
    return LinkedSlots(list(best.values()), symbols)


def _rarer(name: str, mentions: int, other: Link) -> bool:
    return (mentions, -len(name)) < (other.mentions, -len(other.name))
