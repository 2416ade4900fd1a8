"""The statements of a memory, as ``Engine`` uses them: told, taken back and looked up."""

import time

from memnet.config import Config
from memnet.statements.judge import RuleJudge
from memnet.statements.learned import LearnedJudge, LearnedParser
from memnet.statements.learning import Learner
from memnet.statements.loading import LazyStatementReader
from memnet.statements.parsing import RuleParser
from memnet.statements.protocol import StatementJudge, StatementParser
from memnet.statements.records import history, undo
from memnet.statements.teller import Rules, tell
from memnet.statements.usage import UsageBuffer
from memnet.storage import Encode, MemoryStore
from memnet.text.checks import check_moment, check_namespace, check_text
from memnet.types import Eviction, Statement, TellReport, UndoReport


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
        """Load nothing yet.

        Args:
            store: the memory.
            encode: encodes keys and relations.
            config: settings.
            parser: takes sentences apart; None for the statement network.
            judge: compares statements; None for the statement network.
            reader: the statement network; None for rules alone.
        """
        self.usage = UsageBuffer(store, config.tell)
        self._store = store
        self._encode = encode
        self._config = config
        parse_by_rules, judge_by_rules = RuleParser(), RuleJudge(config.tell)
        by_rules = rules = Rules(parse_by_rules, judge_by_rules)
        if reader is not None:
            rules = Rules(
                LearnedParser(reader, parse_by_rules), LearnedJudge(reader, judge_by_rules)
            )
        self._rules = Rules(parser or rules.parser, judge or rules.judge)
        # Of thousands of messages at once: the network would take as long as all else together.
        own = Rules(parser or by_rules.parser, judge or by_rules.judge)
        self.learner = Learner(store, encode, config.tell, own) if config.messages.learn else None
        """Learns from messages; None where that is switched off."""

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
        return undo(self._store, self._config.tell, namespace)

    def history(self, name: str | None, namespace: str | None) -> tuple[Statement, ...]:
        """As ``Engine.history``."""
        if name is not None:
            check_text(name, "the name", self._config.limit.name)
        check_namespace(namespace, self._config.limit)
        return history(self._store, name, namespace)

    def evictions(self, namespace: str | None) -> tuple[Eviction, ...]:
        """As ``Engine.evictions``."""
        check_namespace(namespace, self._config.limit)
        return tuple(self._store.statements.evictions(namespace))
