"""The statements of a memory, as ``Engine`` uses them: told, taken back and looked up."""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from memnet.config import Config, TellConfig
from memnet.errors import InputError
from memnet.statements.dry_run import now
from memnet.statements.judge import LearnedJudge, RuleJudge
from memnet.statements.loading import LazyStatementReader
from memnet.statements.messages import Learner
from memnet.statements.parsing import LearnedParser, RuleParser
from memnet.statements.protocol import StatementJudge, StatementParser
from memnet.statements.teller import ParserAndJudge, tell
from memnet.storage import Encode, MemoryStore, Told
from memnet.text.checks import check_moment, check_namespace, check_text
from memnet.text.names import normalise, subject_symbol
from memnet.types import Change, Eviction, Statement, StatementChange, TellReport, UndoReport


class StatementMemory:
    """What was told to a store, and how more is told. May be shared between threads."""

    def __init__(
        self,
        store: MemoryStore,
        encode: Encode,
        config: Config,
        parser: StatementParser | None,
        judge: StatementJudge | None,
        reader: LazyStatementReader | None,
    ) -> None:
        """Load nothing yet; where ``parser`` or ``judge`` is None, ``reader`` does it, or rules."""
        self.usage = UsageBuffer(store, config.tell)
        self._store = store
        self._encode = encode
        self._config = config
        by_rules = rules = ParserAndJudge(RuleParser(), RuleJudge(config.tell))
        if reader is not None:
            rules = ParserAndJudge(
                LearnedParser(reader, by_rules.parser), LearnedJudge(reader, by_rules.judge)
            )
        self._rules = ParserAndJudge(parser or rules.parser, judge or rules.judge)
        # Rules alone for messages, thousands at once: the network would take as long as all else.
        own = ParserAndJudge(parser or by_rules.parser, judge or by_rules.judge)
        self.learn = Learner(store, encode, config.tell, own).prepare  # From messages

    def tell(self, text: str, at: object, namespace: str, standing: bool) -> TellReport:
        """As ``Engine.tell``."""
        limits = self._config.limit
        check_text(text, "the text", limits.tell)
        check_text(namespace, "the namespace", limits.name)
        moment = check_moment(at, "at")
        started = time.perf_counter()
        self.usage.save()
        decisions = tell(
            self._store, self._encode, self._config.tell, self._rules, text, moment, namespace,
            standing,
        )  # fmt: skip
        return TellReport(
            decisions=decisions,
            slots=self._store.count_slots(),
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )

    def undo(self, namespace: str) -> UndoReport:
        """As ``Engine.undo``."""
        check_text(namespace, "the namespace", self._config.limit.name)
        self.usage.save()
        started = time.perf_counter()
        store = self._store
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
            store.journal.take_back(last, self._config.tell.usage_half_life)
            restored = _public(store, store.statements.told(last.changed))
            slots = store.count_slots()
        return UndoReport(
            removed=removed,
            restored=restored,
            slots=slots,
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )

    def history(self, name: str | None, namespace: str | None) -> tuple[Statement, ...]:
        """As ``Engine.history``."""
        if name is not None:
            check_text(name, "the name", self._config.limit.name)
        check_namespace(namespace, self._config.limit)
        statements = self._store.statements
        with self._store.reading():
            told = statements.told(statements.ids(namespace).tolist())
            found = told if name is None else _about(told, subject_symbol(name))
            return _public(self._store, found)

    def evictions(self, namespace: str | None) -> tuple[Eviction, ...]:
        """As ``Engine.evictions``."""
        check_namespace(namespace, self._config.limit)
        return tuple(self._store.statements.evictions(namespace))


# Fields of a statement that are stored as they are shown.
_STORED = Statement.model_fields.keys() - {"changed_by_text", "changes"}


def _about(told: Sequence[Told], symbol: str) -> list[Told]:
    """Statements about what a symbol is the name of, another name, or whole words of the name."""
    # An alias such as "my sister" may be that of several, whose own names say so.
    others = {name for one in told if symbol in (names := _names(one)) for name in names}
    return [
        one
        for one in told
        if symbol in (own := _names(one)) or own[0] in others or f" {symbol} " in f" {own[0]} "
    ]


def _names(one: Told) -> list[str]:
    """Subject and aliases of a statement, normalised."""
    subject = subject_symbol(one.subject) or normalise(one.text)
    return [subject, *map(subject_symbol, one.aliases)]


def _public(store: MemoryStore, found: Iterable[Told]) -> tuple[Statement, ...]:
    ordered = sorted(found, key=lambda one: (one.valid_from, one.id))
    changing = {one.changed_by for one in ordered if one.changed_by is not None}
    changing |= {change.changed_by for one in ordered for change in one.changes}
    texts: dict[int | None, str] = {one.id: one.text for one in store.fetch(sorted(changing))}
    return tuple(
        Statement(
            **{name: getattr(one, name) for name in _STORED},
            changed_by_text=texts.get(one.changed_by),
            changes=tuple(_changes(one, texts)),
        )
        for one in ordered
    )


def _changes(one: Told, texts: Mapping[int | None, str]) -> Iterator[StatementChange]:
    """All that changed a statement; what ended it comes last. ``texts`` are by slot."""
    changes: list[tuple[int | None, Change, str | None]] = [*one.changes]
    if one.change is not None and changes[-1:] != [(one.changed_by, one.change, one.reason)]:
        changes.append((one.changed_by, one.change, one.reason))
    for by, change, reason in changes:
        yield StatementChange(changed_by=by, text=texts.get(by), change=change, reason=reason or "")


@dataclass
class UsageBuffer:
    """Attention weights that reads paid to statements, kept until they can be stored.

    So a read never waits for a writer. May be shared between threads.
    """

    store: MemoryStore
    config: TellConfig
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _weights: dict[int, float] = field(default_factory=dict)

    def add(self, weights: Mapping[int, float]) -> None:
        """Add the attention weights, 0..1, of one read, by slot id."""
        with self._lock:
            for slot, weight in weights.items():
                self._weights[slot] = self._weights.get(slot, 0.0) + weight

    def save(self, wait: float | None = None) -> None:
        """Store the collected weights, and start again empty; if that fails, they are kept.

        ``wait`` is seconds to wait for another writer; None for the configured time.
        """
        if not self._weights:
            return
        with self.store.writing(wait):
            with self._lock:
                weights, self._weights = self._weights, {}
            try:
                half_life = self.config.usage_half_life
                self.store.statements.add_usage(weights, now(), half_life)
            except BaseException:
                self.add(weights)
                raise
