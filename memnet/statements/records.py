"""What was told, in the order of its time, and how the last of it is taken back."""

import time
from collections.abc import Iterable, Iterator, Mapping

from memnet.config import TellConfig
from memnet.errors import InputError
from memnet.storage import MemoryStore, Told
from memnet.text.names import normalise, subject_symbol
from memnet.types import Change, Statement, StatementChange, UndoReport


def history(store: MemoryStore, name: str | None, namespace: str | None) -> tuple[Statement, ...]:
    """Statements in the order in which they began to hold.

    Args:
        store: the memory.
        name: of their subject, by any of its aliases; None for all statements.
        namespace: to look in; None for all.
    """
    with store.reading():
        statements = store.statements
        if name is None:
            found = statements.told(statements.ids(namespace).tolist())
        else:
            found = _about(store, subject_symbol(name), namespace)
        return _public(store, found)


def undo(store: MemoryStore, config: TellConfig, namespace: str) -> UndoReport:
    """Take back the last ``tell`` of a namespace, in one transaction.

    Raises:
        InputError: there is none, or what it did is gone for good.
        StoreBusyError, StoreError: the store can't be written.
    """
    started = time.perf_counter()
    with store.changing():
        where = f"namespace {namespace!r}" if namespace else "the default namespace"
        last = store.journal.last(namespace)
        if last is None:
            raise InputError(f"nothing was told in {where} that can be taken back")
        if last.erased:
            raise InputError(
                f"the last thing told in {where} erased statements, or one that it added or "
                "changed was erased since, which is for good: undo goes no further back"
            )
        removed = _public(store, store.statements.told(last.added))
        store.journal.take_back(last, config.usage_half_life)
        restored = _public(store, store.statements.told(last.changed))
        slots = store.count_slots()
    return UndoReport(
        removed=removed,
        restored=restored,
        slots=slots,
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )


def _about(store: MemoryStore, symbol: str, namespace: str | None) -> list[Told]:
    """Statements about a symbol, and about subjects of which it is another name."""
    own = store.statements.about(symbol, namespace)
    other_names = {
        name for one in own if symbol in (names := _names(one)) for name in names if name != symbol
    }
    others = store.statements.told(store.statements.ids_about(other_names, namespace))
    # An alias such as "my sister" may be that of several, whose own names say so.
    others = [one for one in others if _names(one)[0] in other_names]
    return list({one.id: one for one in (*own, *others)}.values())


def _names(one: Told) -> list[str]:
    """Subject and aliases of a statement, normalised."""
    subject = subject_symbol(one.subject) or normalise(one.text)
    return [subject, *map(subject_symbol, one.aliases)]


def _public(store: MemoryStore, found: Iterable[Told]) -> tuple[Statement, ...]:
    ordered = sorted(found, key=lambda one: (one.valid_from, one.id))
    changing = {one.changed_by for one in ordered if one.changed_by is not None}
    changing |= {change.changed_by for one in ordered for change in one.changes}
    texts = {one.id: one.text for one in store.fetch(sorted(changing))}
    return tuple(
        Statement(
            id=one.id,
            source=one.source,
            text=one.text,
            valid_from=one.valid_from,
            valid_until=one.valid_until,
            subject=one.subject,
            aliases=one.aliases,
            relation=one.relation,
            values=one.values,
            polarity=one.polarity,
            certainty=one.certainty,
            told=one.told,
            changed_by=one.changed_by,
            changed_by_text=texts.get(one.changed_by) if one.changed_by else None,
            change=one.change,
            reason=one.reason,
            changes=tuple(_changes(one, texts)),
            standing=one.standing,
            speaker=one.speaker,
            start=one.start,
            end=one.end,
        )
        for one in ordered
    )


def _changes(one: Told, texts: Mapping[int, str]) -> Iterator[StatementChange]:
    """All that changed a statement; what ended it comes last. ``texts`` are by slot."""
    for by, change, reason in one.changes:
        yield StatementChange(changed_by=by, text=texts.get(by), change=change, reason=reason)
    if one.change is not None and (not one.changes or one.changes[-1] != _last(one)):
        text = None if one.changed_by is None else texts.get(one.changed_by)
        yield StatementChange(
            changed_by=one.changed_by, text=text, change=one.change, reason=one.reason or ""
        )


def _last(one: Told) -> tuple[int | None, Change | None, str | None]:
    """What changed a statement last, or ended it."""
    return one.changed_by, one.change, one.reason
