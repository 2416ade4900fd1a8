import json
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.errors import InputError
from memnet.storage import MemoryStore, Scope
from memnet.text.english import query_terms
from tests.exact_store import covers
from tests.toy import fact, passage, source
from tests.unit.test_store import encode, open_store, store

__all__ = ["store"]

_HOSTILE = [
    "year", "the author", 'a"b', "a'b", "a\\b", "$", "$.year", "[0]", "a]b", "%", "', 1) --",
    "\U0001f6a2", "ü", "\n", "null", "true", "1",
]  # fmt: skip
_keys = st.sampled_from(_HOSTILE)
_values = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([2**53 + 1, -(2**63), 2**70, 0.5, 1.0, -0.0, 1e200])
    | st.sampled_from(["", "Ann", "1990-05-01", "1990-05-01T08:30", "1990", *_HOSTILE])
)
_metadata = st.dictionaries(
    _keys,
    _values
    | st.lists(_values | st.just({"year": 1}), max_size=3)
    | st.dictionaries(_keys, _values | st.lists(_values, max_size=2), max_size=2),
    max_size=3,
)
_numbers = st.integers(-3, 3) | st.sampled_from([0.5, 1.5, 2**53 + 2])
_ends = st.tuples(_numbers, _numbers) | st.tuples(
    st.text("19-", max_size=3), st.sampled_from(["2", "9", "1990-05-01", "1990-04-30"])
)
_ranges = _ends.map(lambda ends: {"from": ends[0], "to": ends[1]}) | _ends.flatmap(
    lambda ends: st.sampled_from([{"from": ends[0]}, {"to": ends[1]}])
)
_where = st.dictionaries(
    st.lists(_keys.filter(lambda key: "." not in key), min_size=1, max_size=2).map(".".join),
    _values | st.lists(_values, max_size=3) | _ranges,
    max_size=2,
)


@given(st.lists(_metadata, min_size=1, max_size=4), st.lists(_where, min_size=5, max_size=5))
def test_conditions_choose_what_a_comparison_value_by_value_chooses(
    tmp_path_factory: pytest.TempPathFactory, given: list[dict[str, Any]], wheres: list[Any]
) -> None:
    sources = [
        source(str(number), passage("old light", about=["light"]), metadata=metadata)
        for number, metadata in enumerate(given)
    ]
    with closing(open_store(tmp_path_factory.mktemp("store"))) as store:
        store.put(sources, encode)
        for where in wheres:
            scope = Scope(where=where)
            expected = {one.name for one in sources if covers(scope, one)}
            found = store.search_symbolic(["light"], 9, scope).get("light", [])
            slots = store.fetch(found)
            assert {slot.source for slot in slots} == expected
            assert [slot.metadata for slot in slots] == [given[int(s.source)] for s in slots]


def test_every_search_keeps_to_the_scope(store: MemoryStore) -> None:
    for name in ("Ann", "Bo"):
        store.put(
            [
                source(
                    name, passage("the old light", about=["light"], mentions=["orre"]),
                    fact("Light", "built by", name), metadata={"author": {"name": name}},
                )
            ],
            encode,
        )  # fmt: skip
    scope = Scope(where={"author.name": "Bo"})
    own = {3, 4}
    dense = store.search_dense(encode(["light"])[0], 9, scope)
    words = store.search_lexical(query_terms("light"), 9, scope)
    assert set(dense.ids[dense.mask].tolist()) == {3}
    assert set(words.ids[words.mask].tolist()) == own
    assert store.search_symbolic(["light"], 9, scope) == {"light": [3, 4]}
    assert store.search_mentions(["orre"], 9, scope) == {"orre": [3]}
    assert [slot.id for slot in store.last_passages(9, scope)] == [3]
    symbols = store.facts.subjects(["light"]).values()
    groups = store.facts.outgoing(symbols, scope)
    assert groups[:, 2].tolist() == [1]
    assert store.facts.follow(groups[:, :2].tolist(), scope)[:, 2].tolist() == [4]
    nowhere = Scope("other", {"author.name": "Bo"})
    assert not store.search_dense(encode(["light"])[0], 9, nowhere).mask.any()


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("2023-07-09", "day zoned spaced"),
        (["2023-07-09", "2023-07-10"], "day zoned spaced next"),
        ({"from": "2023-07-01", "to": "2023-07-09"}, "day zoned spaced other"),
        ({"from": "2023-07-09"}, "day zoned spaced next other"),
        ({"to": "2023-07-08"}, ""),
        ({"from": "2023-07-10", "to": "2023-07"}, "next"),
        ({"from": "2023-07-10", "to": "2023"}, "next"),
        ({"from": "2023", "to": "2023-06"}, ""),
        ("2023-07-09T23:30:00+02:00", "zoned"),
        ("2023-07", ""),
    ],
)
def test_a_day_covers_its_times(store: MemoryStore, wanted: Any, found: str) -> None:
    dates = {
        "day": "2023-07-09",
        "zoned": "2023-07-09T23:30:00+02:00",
        "spaced": ["2023-07-09 08:15", "x"],
        "next": "2023-07-10T00:00:00Z",
        "other": "2023-07-09-draft",
    }
    slot = passage("old light", about=["light"])
    store.put([source(name, slot, metadata={"on": on}) for name, on in dates.items()], encode)
    ids = store.search_symbolic(["light"], 9, Scope(where={"on": wanted})).get("light", [])
    assert {slot.source for slot in store.fetch(ids)} == set(found.split())


def test_metadata_that_is_no_standard_json_matches_nothing(store: MemoryStore) -> None:
    slot = passage("old light", about=["light"])
    store.put([source("a", slot, metadata={"year": 1, "size": float("nan")})], encode)
    assert store.search_symbolic(["light"], 9, Scope(where={"year": 1})) == {}
    assert store.fetch([1])[0].metadata["year"] == 1


@pytest.mark.parametrize(
    "where",
    [
        "author", ["author"], {"": 1}, {"a..b": 1}, {3: 1}, {".".join("abcdefghijk"): 1},
        {"a": float("nan")}, {"a": float("inf")}, {"a": 10**400}, {"a": "\ud800"}, {"\ud800": 1},
        {"a": [[1]]}, {"a": {}}, {"a": {"from": None}}, {"a": {"from": 1, "to": "2"}},
        {"a": {"from": 1, "until": 2}}, {"a": {"from": True}}, {"a": b"x"}, {"a": [0] * 10_001},
        {str(number): 1 for number in range(101)},
    ],
    ids=lambda where: json.dumps(where, default=str, skipkeys=True)[:40],
)  # fmt: skip
def test_conditions_of_no_known_form_are_refused(where: Any) -> None:
    with pytest.raises(InputError, match="where"):
        Scope(where=where)
