"""Whatever is done to a store, and wherever it is cut off, it holds what a dictionary would."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memnet.storage import MemoryStore
from tests import killed

_names = st.sampled_from([f"document {number}" for number in range(4)])
_documents = st.dictionaries(_names, st.integers(0, 3), min_size=1, max_size=3)
_about = st.sampled_from(["ann", "ben"])


class AgainstADictionary(RuleBasedStateMachine):
    @initialize(share=st.sampled_from([1e-6, 1 / 16, 10.0]))
    def start(self, share: float) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.share = share
        self.number = 0
        self.model = killed.Model()
        self.told = 0
        self.store = self.open()

    def open(self) -> MemoryStore:
        return killed.open_store(self.folder / str(self.number), unsaved_share=self.share)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    def take(self, *step: object) -> None:
        killed.take(self.store, step)  # type: ignore[arg-type]
        self.model = self.model.after(step)  # type: ignore[arg-type]

    def valid(self) -> list[str]:
        return [text for text, (_, is_valid) in self.model.told.items() if is_valid]

    @rule(documents=_documents)
    def put(self, documents: dict[str, int]) -> None:
        self.take("put", documents)

    @rule(names=st.sets(_names))
    def forget(self, names: set[str]) -> None:
        self.take("delete", sorted(names))

    @rule(about=_about, words=st.sampled_from(["storm", "herring lamp"]))
    def tell(self, about: str, words: str) -> None:
        self.told += 1
        self.take("tell", (f"{words} {self.told}", about))

    @precondition(lambda self: self.valid())
    @rule(about=_about, place=st.integers(0, 9))
    def supersede(self, about: str, place: int) -> None:
        valid = self.valid()
        self.told += 1
        self.take("supersede", (f"boat {self.told}", about, valid[place % len(valid)]))

    @precondition(lambda self: self.valid())
    @rule(kind=st.sampled_from(["end", "erase"]), place=st.integers(0, 9))
    def end(self, kind: str, place: int) -> None:
        valid = self.valid()
        self.take(kind, valid[place % len(valid)])

    @rule(query=st.sampled_from(["storm", "boat", "lamp island"]))
    def search(self, query: str) -> None:
        self.store.search_dense(killed.encode([query])[0], 5)

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = self.open()

    @rule(documents=_documents, names=st.sets(_names), search=st.booleans())
    def fail(self, documents: dict[str, int], names: set[str], search: bool) -> None:
        """A change that ends in an error leaves nothing, not even in the index in memory."""
        try:
            with self.store.changing():
                killed.take(self.store, ("put", documents))
                if search:
                    self.store.search_dense(killed.encode(["storm"])[0], 5)
                killed.take(self.store, ("delete", sorted(names)))
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass

    @rule(documents=_documents, names=st.sets(_names), committed=st.booleans())
    def crash(self, documents: dict[str, int], names: set[str], committed: bool) -> None:
        """Go on with the files as they lie in the middle of a change, or after it."""
        before, path = self.store, self.folder / str(self.number)
        self.number += 1
        with before.changing():
            killed.take(before, ("put", documents))
            if not committed:
                killed.take(before, ("delete", sorted(names)))
                shutil.copytree(path, self.folder / str(self.number))
        if committed:
            self.model = self.model.after(("put", documents))
            shutil.copytree(path, self.folder / str(self.number))
        before.close()
        self.store = self.open()

    @invariant()
    def holds_what_the_dictionary_holds(self) -> None:
        if hasattr(self, "store"):
            killed.check(self.store, [self.model], queries=1)


TestAgainstADictionary = AgainstADictionary.TestCase
