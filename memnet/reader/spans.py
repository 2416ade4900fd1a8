"""The extractive reader: answers that stand word for word in the passages.

A question and as many passages as fit are one *pack* of tokens; a network scores each token as the
start and the end of a short answer and as a part of the quotation that answers, and says of which
kind the answer is. B = packs, T = tokens of question and passages, K = kinds.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from memnet.attention.arrays import softmax
from memnet.text.english import Unit, units

# Kinds of answers that the network tells apart; "none": the passages hold no answer.
KINDS = ("none", "value", "definition", "statement", "list", "steps", "yes", "no")
NONE, YES, NO = (KINDS.index(kind) for kind in ("none", "yes", "no"))
# Kinds that are quoted from a passage.
QUOTED = tuple(n for n in range(len(KINDS)) if n not in (NONE, YES, NO))
# Outputs of each linear layer above the encoder: start and end of the span and relevance of each
# token, and the kinds.
HEADS = {"pointers": 3, "kinds": len(KINDS)}
# Logit of a token outside the passages: finite, so that a pack without any other gives no NaN.
MASKED_LOGIT = -1e4
_CLS, _SEP = "[CLS]", "[SEP]"
_MAX_QUESTION_TOKENS = 64
# Tokens that are left for a passage, however long its title; a longer title is cut.
_MIN_PASSAGE_TOKENS = 24
_MAX_SPAN_TOKENS = 20
_MAX_SPANS = 20  # Max. spans of each pack.
# Units of each pack of which the words are kept that speak for them, and how many.
_MAX_EXPLAINED, _MAX_WORDS = 3, 5


class Passage(NamedTuple):
    """What is read."""

    title: str
    text: str


class Span(NamedTuple):
    """A possible answer."""

    passage: int
    """Index of the passage that it stands in."""
    start: int
    """Its first character there."""
    end: int
    """The character after its last."""
    probability: float
    """By the reader, not calibrated: not how often such an answer is right."""

    def overlaps(self, other: "Span") -> bool:
        """Whether both, of one passage, have a character in common."""
        return self.start < other.end and other.start < self.end


class ReadWord(NamedTuple):
    """A word of a unit."""

    start: int  # Its first character in the passage
    end: int
    weight: float  # Its share in the softmax over the logits of the unit's tokens, 0..1


class ReadUnit(NamedTuple):
    """A unit of a passage, as the last hop attends to it."""

    passage: int  # Index of the passage that it stands in
    unit: Unit
    logit: float  # Log-odds that it is a part of the quotation that answers, against none of all
    words: tuple[ReadWord, ...] = ()  # Those that speak most for it, in order; of the best units
    weight: float = 0.0  # Attention, 0..1; all weights and that of "no answer" sum to one


class Reading(NamedTuple):
    """What a reader made of a question and its passages."""

    spans: tuple[Span, ...]
    """Likeliest first."""
    yes: float
    """Probability that the answer is yes."""
    no: float
    answerable: float
    """Probability that the passages hold an answer of any kind."""
    units: tuple[ReadUnit, ...] = ()
    """All units of all passages in their order; none by a reader that knows of short answers only,
    which then are quoted in their sentences."""
    kinds: Mapping[str, float] = {}
    """Probabilities of the kinds of an answer that is quoted, if there is one: "value",
    "definition", "statement", "list", "steps"; empty by such a reader."""

    def of(self, chosen: Sequence[int]) -> "Reading":
        """What was read in some of the passages alone, which are then counted from 0."""
        places = {passage: place for place, passage in enumerate(chosen)}
        return self._replace(
            spans=tuple(
                one._replace(passage=places[one.passage])
                for one in self.spans
                if one.passage in places
            ),
            units=tuple(
                one._replace(passage=places[one.passage])
                for one in self.units
                if one.passage in places
            ),
        )


class Reader(Protocol):
    """What reads short answers in passages; any object with this method can be used as one.

    It may be called from several threads at once.
    """

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Point at answers.

        Args:
            question: in plain language.
            passages: best first; there may be none.

        Returns:
            Spans by passage index and character offsets in ``Passage.text``, with probabilities
            0..1; a reader that knows no yes, no or "no answer" gives 0, 0 and 1 for these.
        """
        ...


def answered_by(question: str, short: str | None) -> str:
    """What the network for verdicts is asked of a text: whether it answers, with ``short`` if any.

    Its answer is ``Reading.answerable``.
    """
    return f"{question} = {short or ''}".rstrip()


class SpanScores(NamedTuple):
    """Scores of the packs of a batch, float32."""

    start: NDArray[np.float32]  # [B, T]: log-probability that an answer's span starts at a token
    end: NDArray[np.float32]  # [B, T]: the same for its last token
    relevance: NDArray[np.float32]  # [B, T]: logits of tokens; their mean over a unit is its own
    kind: NDArray[np.float32]  # [B, K]: log-probabilities of ``KINDS``


# A trained network: takes token ids, segments and mask of answer tokens, each [B, T].
ScorePacks: TypeAlias = Callable[
    [NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]], SpanScores
]


class PackedUnit(NamedTuple):
    """A unit in a pack."""

    passage: int
    unit: Unit
    first: int  # Its first token in the pack
    last: int


@dataclass(frozen=True)
class Pack:
    """A question and passages, as the network takes them."""

    token_ids: list[int]  # [T]
    passages_start: int  # First token of the passages
    # [T] index of a token's passage, its first character there and the one after its last; None
    # where no answer may be: in the question, in titles, at separators
    offsets: list[tuple[int, int, int] | None]
    units: list[PackedUnit]  # Those of its passages, in their order

    def inputs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Token ids, segments and mask of answer tokens of one pack, each [1, T]."""
        token_ids = np.array([self.token_ids], np.int64)
        segments = np.zeros_like(token_ids)
        segments[0, self.passages_start :] = 1
        return token_ids, segments, np.array([[one is not None for one in self.offsets]])


class _Piece(NamedTuple):
    """A part of a passage that fits into a pack, after its title."""

    title: list[int]
    tokens: list[int]
    offsets: list[tuple[int, int, int]]
    units: Sequence[Unit]  # Of the whole passage

    def __len__(self) -> int:
        return len(self.title) + len(self.tokens) + 1

    def packed_units(self, position: int) -> Iterator[PackedUnit]:
        """The units of which the piece holds a token; ``position`` is its first in the pack."""
        starts = [first for _, first, _ in self.offsets]
        ends = [end for _, _, end in self.offsets]
        for unit in self.units:
            first, last = bisect_right(ends, unit.start), bisect_left(starts, unit.end) - 1
            if first <= last:
                passage = self.offsets[0][0]
                yield PackedUnit(passage, unit, position + first, position + last)


class Packer:
    """Makes packs: two texts in one sequence, as in Devlin et al. 2019, section 3."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        """Take a tokenizer that neither pads nor truncates, and the most tokens of a pack."""
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._cls = tokenizer.token_to_id(_CLS)
        self._sep = tokenizer.token_to_id(_SEP)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """First character of each token of a text, and the one after its last."""
        return self._tokens(text)[1]

    def packs(self, question: str, passages: Sequence[Passage]) -> list[Pack]:
        """All tokens of some passages in as few packs as their order allows.

        A passage is only cut where it is longer than a pack.
        """
        tokens = self._tokens(question)[0][:_MAX_QUESTION_TOKENS]
        head = [self._cls, *tokens, self._sep]
        room = self._max_tokens - len(head)
        groups: list[list[_Piece]] = []
        used = room
        for piece in self._pieces(passages, room):
            if used + len(piece) > room:
                groups.append([])
                used = 0
            groups[-1].append(piece)
            used += len(piece)
        return [self._pack(head, group) for group in groups]

    def _pieces(self, passages: Sequence[Passage], room: int) -> Iterator[_Piece]:
        for index, passage in enumerate(passages):
            title = self._tokens(f"{passage.title}.")[0] if passage.title else []
            title = title[: room - _MIN_PASSAGE_TOKENS]
            tokens, offsets = self._tokens(passage.text)
            whole = units(passage.text)
            step = room - len(title) - 1
            for start in range(0, len(tokens), step):
                yield _Piece(
                    title,
                    tokens[start : start + step],
                    [(index, first, end) for first, end in offsets[start : start + step]],
                    whole,
                )

    def _pack(self, head: list[int], pieces: list[_Piece]) -> Pack:
        tokens = list(head)
        offsets: list[tuple[int, int, int] | None] = [None] * len(head)
        found: list[PackedUnit] = []
        for piece in pieces:
            found += piece.packed_units(len(tokens) + len(piece.title))
            tokens += [*piece.title, *piece.tokens, self._sep]
            offsets += [*([None] * len(piece.title)), *piece.offsets, None]
        return Pack(tokens, len(head), offsets, found)

    def _tokens(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        return encoded.ids, encoded.offsets


class ExtractiveReader:
    """Reads packs of passages with a trained network; a ``Reader``."""

    def __init__(self, network: ScorePacks, packer: Packer, threads: int = 1) -> None:
        """Join a trained network and what makes its input.

        ``threads`` are for several packs, one core each; a single one may use all cores of torch.
        """
        self._network = network
        self._packer = packer
        self._threads = threads

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """The likeliest spans of all packs; a pack without an answer gives its spans little."""
        packs = self._packer.packs(question, passages)
        spans: list[Span] = []
        read: list[ReadUnit] = []
        kinds = np.zeros((len(packs), len(KINDS)))
        logits = np.zeros(len(packs))
        for row, (pack, scores) in enumerate(zip(packs, self._scores(packs), strict=True)):
            kinds[row] = np.exp(scores.kind[0])
            weight = float(kinds[row, QUOTED].sum())
            found = spans_within(pack, scores.start[0], scores.end[0])
            spans += [Span(*place, weight * math.exp(score)) for place, score in found]
            of_pack = list(_read_units(pack, scores.relevance[0]))
            logits[row] = np.logaddexp.reduce([one.logit for one in of_pack], initial=-np.inf)
            read += of_pack
        # A pack counts as much as the last hop attends to its units.
        mixed = softmax(np.maximum(logits, MASKED_LOGIT).astype(np.float32)) @ kinds
        quoted = mixed[list(QUOTED)].sum()
        return Reading(
            spans=tuple(sorted(spans, key=lambda span: -span.probability)),
            yes=float(mixed[YES]),
            no=float(mixed[NO]),
            # As if packs held answers independently of each other (noisy or).
            answerable=float(1 - kinds[:, NONE].prod()),
            units=tuple(read),
            kinds={KINDS[kind]: float(mixed[kind] / quoted) for kind in QUOTED if quoted},
        )

    def _scores(self, packs: Sequence[Pack]) -> list[SpanScores]:
        if self._threads > 1 and len(packs) == 1:
            return [self._network(*packs[0].inputs())]
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(lambda pack: self._network(*pack.inputs()), packs))


def _read_units(pack: Pack, relevance: NDArray[np.float32]) -> Iterator[ReadUnit]:
    """The units of a pack with the means of their tokens' logits."""
    sums = np.concatenate([[0.0], np.cumsum(relevance, dtype=np.float64)])
    means = [
        float(sums[one.last + 1] - sums[one.first]) / (one.last + 1 - one.first)
        for one in pack.units
    ]
    best = sorted(means)[-_MAX_EXPLAINED:]
    for one, mean in zip(pack.units, means, strict=True):
        words = _read_words(pack, relevance, one) if mean >= best[0] else ()
        yield ReadUnit(one.passage, one.unit, mean, words)


def _read_words(
    pack: Pack, relevance: NDArray[np.float32], unit: PackedUnit
) -> tuple[ReadWord, ...]:
    """The words of a unit with more than their share of its attention."""
    logits = relevance[unit.first : unit.last + 1].astype(np.float64)
    shares = np.exp(logits - logits.max())
    shares /= shares.sum()
    words: list[ReadWord] = []
    for place, share in zip(pack.offsets[unit.first : unit.last + 1], shares.tolist(), strict=True):
        if place is None:
            continue
        if words and words[-1].end == place[1]:
            words[-1] = ReadWord(words[-1].start, place[2], words[-1].weight + share)
        else:
            words.append(ReadWord(place[1], place[2], share))
    best = sorted(words, key=lambda word: -word.weight)[:_MAX_WORDS]
    return tuple(word for word in words if word in best and word.weight * len(words) > 1)


def spans_within(
    pack: Pack, start: NDArray[np.float32], end: NDArray[np.float32], max_spans: int = _MAX_SPANS
) -> Iterator[tuple[tuple[int, int, int], float]]:
    """The best spans of a pack that stay within one passage, as ``Pack.offsets``, and their scores.

    Those of its tokens as the first and the last are [T] float32.
    """
    mask = np.array([one is not None for one in pack.offsets])
    for begin, stop, score in best_spans(start, end, mask, _MAX_SPAN_TOKENS, max_spans):
        first, last = pack.offsets[begin], pack.offsets[stop]
        if first is not None and last is not None and first[0] == last[0]:
            yield (first[0], first[1], last[2]), score


def best_spans(
    start: NDArray[np.float32],
    end: NDArray[np.float32],
    mask: NDArray[np.bool_],
    max_tokens: int,
    max_spans: int,
) -> list[tuple[int, int, float]]:
    """The spans with the largest sum of the scores of their ends.

    Args:
        start: [T] float32, scores of tokens as the first.
        end: [T] float32, as the last.
        mask: [T] bool, tokens where a span may start or end.
        max_tokens: of a span.
        max_spans: to return.

    Returns:
        First token, last token and score, the best first; of equals the one that starts first.
        There are T at most.
    """
    count = min(max_spans, len(start))
    first = np.where(mask, start, -np.inf)
    last = np.pad(np.where(mask, end, -np.inf), (0, max_tokens - 1), constant_values=-np.inf)
    sums = (first[:, None] + sliding_window_view(last, max_tokens)).ravel()
    threshold = np.partition(sums, -count)[-count]
    likely = np.flatnonzero((sums >= threshold) & (sums > -np.inf))
    best = likely[np.argsort(-sums[likely], kind="stable")[:count]]
    starts, lengths = np.divmod(best, max_tokens)
    ends = starts + lengths
    return list(zip(starts.tolist(), ends.tolist(), sums[best].tolist(), strict=True))
