"""What a question is looked up by: slips of spelling mended, parts of names in full."""

import re
from dataclasses import replace
from functools import cache

from memnet.encoders.weights import load_tokenizer
from memnet.storage import MemoryStore, Scope
from memnet.text.english import NOT_NAMES, is_foreign, query_terms
from memnet.text.names import edits, normalise

_MIN_LETTERS = 5  # Too many shorter words are one edit apart
_MAX_LETTERS = 30
_MAX_MENDED = 1  # Words of a question that are tried, the longest: each costs a hundred look-ups
_MAX_SLOTS = 5000  # A word that more slots hold is known anyway
_OF_NAME = 100  # Facts that are looked at for a part of a name
_CAPITALISED = re.compile(r"\b[A-Z]\w+")


def looked_up(text: str, store: MemoryStore, scope: Scope) -> str:
    """A question as a memory is searched for it, within ``reading``; what reads it takes ``text``.

    A word that stands neither in the memory nor in the vocabulary of the encoder becomes one of it
    that is one edit away and has its first letter, the most frequent one; "Ida" becomes "Ida
    Morrow" where facts are about her and about no other Ida. Words of other languages stay.
    """
    words = [] if is_foreign(text) else query_terms(text)
    known = store.search_terms(words, _MAX_SLOTS)
    unknown = [
        word
        for word in words
        if word in known and not len(known[word]) and word.isascii() and word.isalpha()
        and _MIN_LETTERS <= len(word) <= _MAX_LETTERS
        and _vocabulary().token_to_id(word) is None  # a word of English is none
    ]  # fmt: skip
    for word in sorted(unknown, key=len, reverse=True)[:_MAX_MENDED]:
        close = sorted(one for one in edits(word) if one[0] == word[0] and one.isalpha())
        counts = {one: len(ids) for one, ids in store.search_terms(close, _MAX_SLOTS).items()}
        best = max(counts, key=counts.__getitem__, default="")
        if best and counts[best]:
            text = re.sub(rf"\b{word}\b", best, text, flags=re.IGNORECASE)
    return _with_whole_names(text, store, scope)


_vocabulary = cache(load_tokenizer)


def _with_whole_names(text: str, store: MemoryStore, scope: Scope) -> str:
    """A question with the names of subjects of facts in full of which it has a word."""
    if "facts" not in store.contents.kinds(scope.namespace):
        return text
    facts = replace(scope, kinds=frozenset(("facts",)))
    for word in dict.fromkeys(_CAPITALISED.findall(text)):
        part = normalise(word)
        if part in NOT_NAMES or store.facts.subjects([part]):
            continue
        hits = store.search_lexical([part], _OF_NAME, facts)
        titles = {
            slot.title
            for slot in store.fetch_existing(hits.ids[hits.mask].tolist())
            if slot.kind == "fact" and part in normalise(slot.title).split()
        }
        if len(titles) == 1 and not _names(text, *titles):
            text = re.sub(rf"\b{word}\b", titles.pop().replace("\\", " "), text, count=1)
    return text


def _names(text: str, title: str) -> bool:
    return f" {normalise(title)} " in f" {normalise(text)} "
