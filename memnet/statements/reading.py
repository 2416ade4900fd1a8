"""Reading of statements by the statement network: its outputs, and what they say.

One Transformer reads two things. A question with statements in the order of their time: which of
them are needed, where the answer stands, and of which form it is. And a new statement with earlier
ones: what it is about, what it says of that, and what it changes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import sigmoid, softmax
from memnet.reader.checkpoint import NetworkKind
from memnet.reader.spans import MASKED_LOGIT, Pack, Packer, Passage, spans_within
from memnet.statements.protocol import Label
from memnet.text.english import ARTICLES
from memnet.types import Certainty

AnswerForm = Literal["none", "value", "list", "count", "yes", "no", "conflict"]
# Forms of an answer; "none": the statements hold none; "conflict": they contradict each other, and
# nothing decides between them.
FORMS: Final[tuple[AnswerForm, ...]] = (
    "none", "value", "list", "count", "yes", "no", "conflict",
)  # fmt: skip
MOST_COUNTED: Final = 12  # The largest number that an answer by counting may be
ITEM_TAGS: Final = ("O", "B", "I")  # Tokens outside of items, first ones, and others inside
# Tokens of a new statement: outside, what it is about, what it says of that.
TAGS: Final = ("O", "B-subject", "I-subject", "B-value", "I-value")
CERTAINTIES: Final[tuple[Certainty, ...]] = ("is", "was", "planned", "maybe")
TOKEN_SPLITS: Final = [2, 1, len(ITEM_TAGS), len(TAGS), len(Label), 1]
TEXT_SPLITS: Final = [len(FORMS), MOST_COUNTED + 1, 1, len(CERTAINTIES)]
# Outputs of each linear layer above the encoder: of each token, and of the first one.
HEADS: Final = {"pointers": sum(TOKEN_SPLITS), "kinds": sum(TEXT_SPLITS)}
STATEMENTS: Final = NetworkKind("statements", HEADS)  # How the network is saved


class StatementScores(NamedTuple):
    """Logits of the packs of a batch, float32. B = packs, T = tokens."""

    ends: NDArray[np.float32]  # [B, T, 2]: the answer starts at a token, and ends there
    # [B, T], whose mean over a statement is the log-odds that the answer needs it.
    relevance: NDArray[np.float32]
    items: NDArray[np.float32]  # [B, T, 3]: ``ITEM_TAGS``, where the answer is a list
    tags: NDArray[np.float32]  # [B, T, 5]: ``TAGS``, of a new statement
    # [B, T, 6], whose mean over an earlier statement is of the ``Label`` of what happens to it.
    changes: NDArray[np.float32]
    # [B, T], whose mean over an earlier statement is the log-odds that a part is changed only.
    partly: NDArray[np.float32]
    form: NDArray[np.float32]  # [B, 7]: ``FORMS``
    number: NDArray[np.float32]  # [B, 13]: the answer by counting
    negative: NDArray[np.float32]  # [B]: the log-odds that a new statement denies or ends something
    certainty: NDArray[np.float32]  # [B, 4]: ``CERTAINTIES``, of a new statement


def split_scores(tokens: NDArray[np.float32], text: NDArray[np.float32]) -> StatementScores:
    """Outputs of the two linear layers, [B, T, 18] and [B, 25] float32, by their meaning."""
    ends, relevance, items, tags, changes, partly = np.split(
        tokens, np.cumsum(TOKEN_SPLITS)[:-1], axis=2
    )
    form, number, negative, certainty = np.split(text, np.cumsum(TEXT_SPLITS)[:-1], axis=1)
    return StatementScores(
        ends, relevance[:, :, 0], items, tags, changes, partly[:, :, 0],
        form, number, negative[:, 0], certainty,
    )  # fmt: skip


def passage_tokens(pack: Pack, count: int) -> list[tuple[int, int] | None]:
    """First and last token of each of ``count`` passages in a pack; None of those left out."""
    found: list[tuple[int, int] | None] = [None] * count
    for token, place in enumerate(pack.offsets):
        if place is not None:
            known = found[place[0]]
            found[place[0]] = (token if known is None else known[0], token)
    return found


def mean_of(values: NDArray[np.float32], span: tuple[int, int]) -> NDArray[np.float32]:
    """The mean [...] float32 over a span of tokens, of values [T, ...] float32."""
    return np.asarray(values[span[0] : span[1] + 1].mean(axis=0), np.float32)


_SPANS = 5
# Probability from which statements are said to contradict each other: of 22 such questions held out
# 27 % are found, of 1,202 others 1.1 % taken for one.
_CONFLICT = 0.05
# Share of the highest prior from which a statement has items of a list: what was eaten yesterday is
# no list of all that was eaten.
_COUNTED = 0.05
_APOSTROPHES = "'’"
_CURRENCIES, _IN_NUMBERS = "$£€¥", ".,:/"  # "£6,200" is one word
_SEPARATORS = ",; "  # Separators of items; stripped from items even where their token is tagged
_NOTHING = Passage("", "-")  # Stands for earlier statements where there are none


class Piece(NamedTuple):
    """A piece of a statement."""

    statement: int  # Index of the statement
    start: int  # Its first character there
    end: int  # The character after its last
    probability: float


class StatementReading(NamedTuple):
    """What was made of a question and statements."""

    forms: Mapping[AnswerForm, float]  # Probabilities; "none": the statements hold no answer.
    pieces: tuple[Piece, ...]  # Possible short answers, likeliest first
    items: tuple[Piece, ...]  # Items, where the answer is a list, in the order of the statements
    number: int  # The answer, if it is a count
    relevance: tuple[float, ...]  # Probability of each statement that it is needed for the answer

    @property
    def form(self) -> AnswerForm:
        """The likeliest form of an answer, if there is one.

        Conflicts are rare in what was learned from, and seldom likelier than one of their sides.
        """
        if self.forms["conflict"] > _CONFLICT:
            return "conflict"
        likeliest = max(FORMS[1:-1], key=lambda form: self.forms[form])
        return "value" if likeliest == "list" and len(self.items) == 1 else likeliest

    def of_form(self, form: AnswerForm, needed: int | None = None) -> "StatementReading":
        """The same, surely of a form; ``needed`` is the one statement that its answer needs."""
        relevance = self.relevance
        if needed is not None:
            relevance = tuple(float(index == needed) for index in range(len(relevance)))
        return self._replace(forms={**dict.fromkeys(FORMS, 0.0), form: 1.0}, relevance=relevance)


class TaggedText(NamedTuple):
    """What a new text says."""

    # First character and the one after the last of each thing that it is about.
    subjects: tuple[tuple[int, int], ...]
    values: tuple[tuple[int, int], ...]  # The same of what it says of them
    negative: bool  # Whether it denies or ends something
    certainty: Certainty


class Manner(NamedTuple):
    """How a text says what it says."""

    negative: float  # Log-odds that it denies or ends something
    certainty: Mapping[Certainty, float]  # Probabilities; they sum to one.


class WriteReading(NamedTuple):
    """What was made of a new text and K earlier statements."""

    tagged: TaggedText
    changes: NDArray[np.float32]  # [K, 6] probabilities of each ``Label``
    partly: NDArray[np.float32]  # [K] probabilities that only a part of each is changed, if it is


@dataclass(frozen=True)
class StatementReader:
    """Reads with a trained network. May be called from several threads at once."""

    network: Callable[[Pack], StatementScores]
    packer: Packer

    def fitting(self, text: str, statements: Sequence[Passage]) -> int:
        """How many of the first of some statements fit into one pack with a text."""
        packs = self.packer.packs(text, statements)
        if len(packs) <= 1:
            return len(statements)
        return 1 + max((place[0] for place in packs[0].offsets if place), default=-1)

    def answer(
        self, question: str, statements: Sequence[Passage], prior: NDArray[np.float32] | None = None
    ) -> StatementReading | None:
        """Read a question; None without statements.

        They are in the order of their time, their days as titles; what does not fit into a pack is
        left out. ``prior`` [K] float32 is what each counts beforehand; None for all alike.
        """
        packs = self.packer.packs(question, statements)
        if not packs:
            return None
        pack = packs[0]
        if prior is None:
            prior = np.ones(len(statements), np.float32)
        scores = self.network(pack)
        forms = softmax(scores.form[0])
        spans = passage_tokens(pack, len(statements))
        relevance = (
            0.0 if one is None else float(sigmoid(mean_of(scores.relevance[0], one)))
            for one in spans
        )
        return StatementReading(
            dict(zip(FORMS, forms.tolist(), strict=True)),
            tuple(_pieces(pack, scores.ends[0], prior, statements)),
            tuple(
                one
                for one in _items(pack, scores.items[0], statements)
                if prior[one.statement] >= _COUNTED * prior.max()
            ),
            int(scores.number[0].argmax()),
            tuple(relevance),
        )

    def manner(self, text: str) -> Manner:
        """How a text says what it says, read by itself."""
        [pack, *_] = self.packer.packs(text, [_NOTHING])
        scores = self.network(pack)
        certainty = softmax(scores.certainty[0]).tolist()
        return Manner(float(scores.negative[0]), dict(zip(CERTAINTIES, certainty, strict=True)))

    def write(self, text: str, earlier: Sequence[Passage]) -> WriteReading:
        """Read a new text with earlier statements, whose days are their titles.

        What does not fit into a pack is left out, and not changed.
        """
        [pack, *_] = self.packer.packs(text, earlier) or self.packer.packs(text, [_NOTHING])
        scores = self.network(pack)
        offsets = self.packer.offsets(text)[: pack.passages_start - 2]
        subjects, values = _tagged(text, scores.tags[0], offsets)
        tagged = TaggedText(
            subjects,
            values,
            negative=bool(scores.negative[0] > 0),
            certainty=CERTAINTIES[int(scores.certainty[0].argmax())],
        )
        changes = np.zeros((len(earlier), scores.changes.shape[2]), np.float32)
        changes[:, Label.NONE] = 1
        partly = np.zeros(len(earlier), np.float32)
        for row, span in enumerate(passage_tokens(pack, len(earlier)) if earlier else []):
            if span is not None:
                changes[row] = softmax(mean_of(scores.changes[0], span))
                partly[row] = sigmoid(mean_of(scores.partly[0], span))
        return WriteReading(tagged, changes, partly)


def _pieces(
    pack: Pack,
    ends: NDArray[np.float32],
    prior: NDArray[np.float32],
    statements: Sequence[Passage],
) -> list[Piece]:
    """The likeliest spans that stay within one statement."""
    mask = np.array([place is not None for place in pack.offsets])
    masked = np.where(mask[:, None], ends, np.float32(MASKED_LOGIT))
    start, end = (masked - np.logaddexp.reduce(masked, axis=0)).T
    found: list[Piece] = []
    for (index, begin, stop), score in spans_within(pack, start, end, 4 * _SPANS):
        weight = float(prior[index] / prior.max())
        spans = whole_words(statements[index].text, [(begin, stop)])
        found += [Piece(index, *span, weight * float(np.exp(score))) for span in spans]
    return sorted(found, key=lambda piece: -piece.probability)[:_SPANS]


def _items(pack: Pack, tags: NDArray[np.float32], statements: Sequence[Passage]) -> list[Piece]:
    """Items by their tags, which begin (1) and go on (2), each of whole words, no article alone."""
    found: list[Piece] = []
    before = None  # Statement of the token before, if that one is of an item

    def is_article(one: Piece) -> bool:
        return statements[one.statement].text[one.start : one.end].casefold() in ARTICLES

    for place, tag, scores in zip(pack.offsets, tags.argmax(axis=1).tolist(), tags, strict=False):
        if place is None or not tag:
            before = None
            continue
        statement, start, end = place
        if before == statement and (tag == 2 or is_article(found[-1])):
            found[-1] = found[-1]._replace(end=end)
        else:
            found.append(Piece(statement, start, end, float(softmax(scores)[tag])))
        before = statement
    return [
        Piece(
            index,
            start,
            start + len(statements[index].text[start:end].rstrip(_SEPARATORS)),
            max(one.probability for one in own if start <= one.start < end),
        )
        for index, group in groupby(found, key=lambda piece: piece.statement)
        for own in (list(group),)
        for start, end in whole_words(statements[index].text, [one[1:3] for one in own])
    ]


def _tagged(
    text: str, tags: NDArray[np.float32], offsets: Sequence[tuple[int, int]]
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """Subjects and values by the tags of the tokens of a text, which begin after [CLS]."""
    found: dict[str, list[tuple[int, int]]] = {"subject": [], "value": []}
    before = ""
    for (start, end), row in zip(offsets, tags[1 : 1 + len(offsets)].argmax(axis=1), strict=True):
        begins, _, name = TAGS[int(row)].partition("-")
        if name and (begins == "B" or name != before):
            found[name].append((start, end))
        elif name:
            found[name][-1] = (found[name][-1][0], end)
        before = name
    return whole_words(text, found["subject"]), whole_words(text, found["value"])


def whole_words(text: str, spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Spans that begin and end with words; those that share one are joined.

    "Ida's" is one word; a span without a letter or digit is left out.
    """
    found: list[tuple[int, int]] = []
    for start, end in spans:
        while start and _in_a_word(text, start):
            start -= 1
        while end < len(text) and _in_a_word(text, end):
            end += 1
        if found and start < found[-1][1]:
            start = found.pop()[0]
        if any(map(str.isalnum, text[start:end])):
            found.append((start, end))
    return tuple(found)


def _in_a_word(text: str, place: int) -> bool:
    """Whether a word goes on from the character before a place to the one at it."""
    before, after = text[place - 1], text[place]
    if (before.isalnum() or before in _CURRENCIES) and after.isalnum():
        return True
    if after in _IN_NUMBERS:
        return before.isdigit() and text[place + 1 : place + 2].isdigit()
    if before in _IN_NUMBERS:
        return after.isdigit() and text[place - 2 : place - 1].isdigit()
    if after in _APOSTROPHES:
        return before.isalpha() and text[place + 1 : place + 2].isalpha()
    return before in _APOSTROPHES and after.isalpha() and text[place - 2 : place - 1].isalpha()
