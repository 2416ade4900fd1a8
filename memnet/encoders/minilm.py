"""all-MiniLM-L6-v2 on ONNX Runtime, with the weights that ship, and its quick way by a table."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from memnet.checkpoints import SHIPPED, check_tensors, check_weights, load_checkpoint
from memnet.encoders.onnx_graph import BertGraph, Shape, Weights, onnx_session
from memnet.encoders.protocol import MENTION, TokenStates, UnitVectors
from memnet.encoders.weights import WEIGHTS_SHA256, load_tokenizer
from memnet.errors import ModelError
from memnet.runtime.device import CPU

if TYPE_CHECKING:
    from memnet.encoders.bert import BertNetwork

    _Network: TypeAlias = "OnnxEncoder | BertNetwork"

MINILM = "minilm"  # Name of the checkpoint of the encoder's weights in int8, and of its folder
QUERY = "query"  # The same of the additions to them by which questions are encoded
_POSITIONS, _WIDTH = 256, 384
_BATCHES = ((16, 128), (32, 32), (32, 8))  # Texts and tokens of the batches ranges are observed on
_CLS, _SEP, _FIRST_WORD = 101, 102, 999
VOCABULARY = 30522  # Tokens of all-MiniLM-L6-v2, [CLS] and [SEP] among them


@lru_cache(maxsize=1)
def shipped_weights() -> Mapping[str, NDArray[Any]]:
    """The weights that ship, as ``onnx_graph.quantised`` gives them; ModelError if damaged."""
    return _shipped(MINILM)


@cache
def query_additions() -> Weights:
    """The low-rank additions to weights by which questions are encoded, as for ``BertGraph``.

    ModelError if they are damaged or of other weights of the encoder.
    """
    return {name: array.astype(np.float32) for name, array in _shipped(QUERY).items()}


def _shipped(name: str) -> Mapping[str, NDArray[Any]]:
    folder = SHIPPED / name
    arrays, description = load_checkpoint(folder, name)
    if description.get("encoder") != WEIGHTS_SHA256:
        raise ModelError(f"the weights in {folder} are of another encoder; reinstall memnet")
    check_weights(arrays, folder)
    return arrays


def encoder_model(
    weights: Weights,
    observe: bool = False,
    positions: int = _POSITIONS,
    additions: Weights | None = None,
) -> bytes:
    """Build the ONNX model of the encoder, from ids [B, T] int64 without padding.

    It gives "vectors" [B, 384] and the "states" [B, T, 384] whose mean each is, before its length
    became one. ``positions`` is the most tokens of a text; the rest is as for ``BertGraph``.
    """
    graph = BertGraph(weights, observe, additions)
    states = graph.add("Identity", graph.tokens(positions), result="states")
    mean = graph.add("ReduceMean", states, graph.constant("axis", np.array([1])), keepdims=0)
    graph.add("LpNormalization", mean, axis=-1, p=2, result="vectors")
    outputs: dict[str, Shape] = {"vectors": ["B", _WIDTH], "states": ["B", "T", _WIDTH]}
    return graph.serialised({"ids": ["B", "T"]}, outputs)


def random_texts(
    first: int = _CLS, last: int = _SEP, word: int = _FIRST_WORD, vocabulary: int = VOCABULARY
) -> Iterator[dict[str, NDArray[np.int64]]]:
    """Batches of texts of random words, ids [B, T] int64 with [CLS] and [SEP], to observe.

    Their ranges are close to those of real texts, and no text has to be shipped. The vocabulary
    is ordered by frequency from ``word`` on, so ranks are drawn log-uniformly (Zipf's law).
    """
    rng = np.random.default_rng(0)
    for shape in _BATCHES:
        ranks = np.exp(rng.uniform(0, np.log(vocabulary - word), shape))
        ids = np.minimum(word + ranks.astype(np.int64), vocabulary - 1)
        ids[:, 0], ids[:, -1] = first, last
        yield {"ids": ids}


class OnnxEncoder:
    """Token ids to one vector a text, as ``BertNetwork.embed``. Thread-safe."""

    def __init__(self, model: bytes) -> None:
        self._session = onnx_session(model)

    def embed(self, token_ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Token ids of texts of equal length [B, T] int64 -> [B, D] float32, of length one."""
        (vectors,) = self._session.run(["vectors"], {"ids": token_ids})
        return np.asarray(vectors, np.float32)

    def embed_states(
        self, token_ids: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """As ``embed``, with the token states [B, T, D] float32 that each vector is the mean of."""
        vectors, states = self._session.run(["vectors", "states"], {"ids": token_ids})
        return np.asarray(vectors, np.float32), np.asarray(states, np.float32)


_BATCH_TOKENS = 1024  # Tokens of a batch: enough for full speed, and they fit the cache of one core
# The same on a GPU: 64 texts of full length, whose attention takes 0.2 GB at a time.
_GPU_BATCH_TOKENS = 16_384


_Embedded = TypeVar("_Embedded")
UNITS = "units"  # Name of the checkpoint of the projection of units, and of its folder


class _Window(NamedTuple):
    text: int
    tokens: list[int]
    first: int = 0  # index in the text of the token in place of [CLS]
    least: int = 1  # index in the window of the first token of the text


class BertEncoder:
    """A network of BERT's kind whose vectors are the means of its token states.

    A text longer than the window is encoded in windows whose vectors are averaged, weighted by
    their tokens; nothing is truncated. Weights are loaded at the first use. Thread-safe.

    Source: Reimers and Gurevych 2019 (mean pooling).
    """

    # Model, start of the weights' sha256, pooling and window; the same in int8 and in float32, as
    # vectors of both may be mixed.
    fingerprint: str
    dimension = _WIDTH
    window: int  # Tokens of the longest training texts, the first and the last one included
    units: Path  # The folder of the checkpoint ``UNITS``
    prompts: tuple[str, str] = "", ""  # Before questions, and before texts that are stored

    def __init__(self, threads: int = 1, device: str = "cpu") -> None:
        """Set up the encoder; no file is read yet.

        Args:
            threads: CPU cores to use.
            device: "cpu" for products in int8, by ONNX Runtime; a GPU of torch for float32.
        """
        self._device = device
        on_cpu = device == CPU
        # ONNX Runtime computes a vector in one call, torch in a hundred short ones.
        self.releases_gil = on_cpu
        # A GPU takes one large batch after the other.
        self._threads = threads if on_cpu else 1
        self._batch_tokens = _BATCH_TOKENS if on_cpu else _GPU_BATCH_TOKENS
        self._lock = threading.Lock()
        self._loaded: tuple[Any, _Network] | None = None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N texts of any length -> [N, 384] float32, rows of length one.

        EncoderError or ModelError where the weights are missing or damaged.
        """
        return self._encode(texts, self.prompts[0])

    def encode_document(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N texts to be stored, of any length -> [N, 384] float32; errors as ``encode``."""
        return self._encode(texts, self.prompts[1])

    def _encode(self, texts: Sequence[str], prompt: str) -> NDArray[np.float32]:
        tokenizer, network = self._network()
        encodings = tokenizer.encode_batch_fast(list(texts))
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for batch, pooled in self._embedded(network.embed, encodings, prompt):
            for window, vector in zip(batch, pooled, strict=True):
                vectors[window.text] += vector * len(window.tokens)
        return self._finished(vectors)

    def encode_units(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> UnitVectors:
        """Texts to be stored, with the means of the token states of units; errors as ``encode``.

        A unit without a token gets the vector of its text.
        """
        tokenizer, network = self._network()
        encodings = tokenizer.encode_batch(list(texts))
        tokens = [
            _tokens_of(encoding.offsets, own)
            for encoding, own in zip(encodings, spans, strict=True)
        ]
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        units = [np.zeros((len(own), self.dimension), np.float32) for own in spans]
        embedded = self._embedded(network.embed_states, encodings, self.prompts[1])
        for batch, (pooled, states) in embedded:
            for window, vector, rows in zip(batch, pooled, states, strict=True):
                vectors[window.text] += vector * len(window.tokens)
                within = (tokens[window.text] - window.first).clip(window.least, len(rows) - 1)
                for unit, (first, last) in zip(units[window.text], within.tolist(), strict=True):
                    unit += rows[first:last].sum(axis=0)
        for vector, own in zip(vectors, units, strict=True):
            own[~own.any(axis=1)] = vector
        return UnitVectors(self._finished(vectors), [self._finished(own) for own in units])

    def unit_projection(self) -> NDArray[np.float32]:
        """[384, 128] float32: principal components of vectors of units; ModelError if damaged."""
        return shipped_units(self.units)["projection"]

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        """Token states of N texts, which are truncated to a window; errors as ``encode``."""
        tokenizer, network = self._network()
        mention = tokenizer.token_to_id(MENTION)
        windows = [
            _Window(text, next(_token_windows(encoding.ids, self.window)))
            for text, encoding in enumerate(tokenizer.encode_batch(list(texts)))
        ]
        encoded: dict[int, TokenStates] = {}
        for batch in _batches(windows, self._batch_tokens):
            ids = np.array([window.tokens for window in batch], np.int64)
            for window, states in zip(batch, network.embed_states(ids)[1], strict=True):
                mentions = (i for i, token in enumerate(window.tokens) if token == mention)
                encoded[window.text] = TokenStates(of_length_one(states), tuple(mentions))
        return [encoded[text] for text in range(len(texts))]

    def _embedded(
        self,
        embed: Callable[[NDArray[np.int64]], _Embedded],
        encodings: Sequence[Any],
        prompt: str,
    ) -> Iterator[tuple[list[_Window], _Embedded]]:
        """Batches of windows with what they become; they run in parallel, each on one core."""
        before = self._network()[0].encode(prompt, add_special_tokens=False).ids
        step = self.window - 2 - len(before)
        windows = [
            _Window(text, tokens, step * number - len(before), 1 + len(before))
            for text, encoding in enumerate(encodings)
            for number, tokens in enumerate(_token_windows(encoding.ids, self.window, before))
        ]
        # Batches of one length need neither padding nor mask.
        batches = list(_batches(windows, self._batch_tokens))
        inputs = (np.array([window.tokens for window in batch], np.int64) for batch in batches)
        if len(batches) == 1 or self._threads == 1:
            yield from zip(batches, map(embed, inputs), strict=True)
            return
        with ThreadPoolExecutor(self._threads) as pool:
            yield from zip(batches, pool.map(embed, inputs), strict=True)

    def _network(self) -> tuple[Any, "_Network"]:
        """The tokenizer, and the network."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _finished(self, sums: NDArray[np.float32]) -> NDArray[np.float32]:
        """Sums of token states [N, D] as vectors of length one."""
        return of_length_one(sums)

    def _load(self) -> tuple[Any, "_Network"]:
        """The tokenizer, without padding and truncation, and the network."""
        raise NotImplementedError


class _QuestionEncoder(BertEncoder):
    """all-MiniLM-L6-v2 with the low-rank additions that learned to find passages."""

    window = 256

    def _load(self) -> tuple[Any, "_Network"]:
        return _load_minilm(self._device, query_additions())


class MiniLMEncoder(BertEncoder):
    """all-MiniLM-L6-v2 (Wang et al. 2020): the vectors of sentence-transformers for the same.

    Questions have a network of their own, and passages are found by its vectors. Each network is
    loaded at its first use: who asks may need no other, and who stores needs none for questions.
    """

    fingerprint = "all-MiniLM-L6-v2/53aa51172d14/mean-256"
    window = 256
    units = SHIPPED / UNITS

    def __init__(self, threads: int = 1, device: str = "cpu") -> None:
        """As for ``BertEncoder``."""
        super().__init__(threads, device)
        self._questions = _QuestionEncoder(threads, device)

    def encode_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N questions -> [N, 384] float32, rows of length one; errors as ``encode``."""
        return self._questions.encode(texts)

    def _load(self) -> tuple[Any, "_Network"]:
        return _load_minilm(self._device, None)


def _load_minilm(device: str, additions: Weights | None) -> tuple[Any, "_Network"]:
    """Tokenizer and network on a device, with low-rank additions to its weights or without."""
    if device == CPU:
        return load_tokenizer(), OnnxEncoder(encoder_model(shipped_weights(), additions=additions))
    from memnet.encoders.bert import BertNetwork

    return load_tokenizer(), BertNetwork.load(device, additions)


def _token_windows(
    tokens: list[int], window: int, prompt: Sequence[int] = ()
) -> Iterator[list[int]]:
    """Cut a tokenised text into windows, each with the same first and last token and prompt."""
    first, *inner, last = tokens
    step = window - 2 - len(prompt)
    for start in range(0, max(1, len(inner)), step):
        yield [first, *prompt, *inner[start : start + step], last]


def _tokens_of(
    offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]
) -> NDArray[np.int64]:
    """First token and the one after the last of each span: [U, 2] int64; [CLS] is token 0."""
    starts, ends = np.array(offsets[1:-1], np.int64).reshape(-1, 2).T
    of_spans = np.array(spans, np.int64).reshape(-1, 2)
    first = np.searchsorted(ends, of_spans[:, 0], "right")
    return np.stack([first, np.searchsorted(starts, of_spans[:, 1], "left")], axis=1) + 1


@cache
def shipped_units(folder: Path) -> dict[str, NDArray[np.float32]]:
    """What is fitted to the vectors of an encoder: a projection [D, R], and a mean [D]."""
    arrays, _ = load_checkpoint(folder, UNITS)
    width = BertEncoder.dimension
    shapes = {"projection": ((width, RANK), np.float32), "mean": ((width,), np.float32)}
    check_tensors(arrays, {name: shapes[name] for name in shapes if name in arrays}, folder)
    return arrays


def of_length_one(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors [N, D] float32 over their lengths."""
    lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths


def _batches(windows: list[_Window], tokens: int) -> Iterator[list[_Window]]:
    """Group windows by length, longest first, into batches of a bounded number of tokens."""
    ordered = sorted(windows, key=lambda window: -len(window.tokens))
    for length, same in groupby(ordered, key=lambda window: len(window.tokens)):
        group = list(same)
        texts = max(1, tokens // length)
        for start in range(0, len(group), texts):
            yield group[start : start + texts]


STATIC = "static"  # Name of the encoder, of its checkpoint and of the folder that ships
STATIC_PREFIX = "all-MiniLM-L6-v2/static/"  # Start of the fingerprints of all such tables
RANK = 128  # R, width of the table; of the keys of units too
_PIECE_TOKENS = 2048  # A longer text is summed in pieces, so that memory stays bounded
_BATCH_PIECES = 128


class TokenTable:
    """A vector for each token, fitted so that the sum of a text's is near to what MiniLM gives it.

    Thread-safe. Source: model2vec (Tulkens and van Dongen 2024): token vectors of a sentence
    encoder, reduced by principal components and weighted by frequency; fitted to the vectors of
    texts as in tokenlearn.
    """

    width = RANK

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take arrays as ``static_shapes`` says; row t of the table times scale t is of token t."""
        self._arrays = arrays

    def sums(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """N texts of any length -> [N, ``width``] float64: the sums of the vectors of their tokens.

        In float64, so that what else is encoded along changes no digit of float32.
        """
        tokenizer, table, _ = self._loaded
        sums = np.zeros((len(texts), table.shape[1]))
        tokens = [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts))]
        pieces = _pieces(tokens)
        while batch := list(islice(pieces, _BATCH_PIECES)):
            lengths = [len(piece) for _, piece in batch]
            flat = np.concatenate([piece for _, piece in batch])
            added = np.add.reduceat(table[flat], np.cumsum([0, *lengths[:-1]]), axis=0)
            np.add.at(sums, [text for text, _ in batch], added)
        return sums

    def encode_quick(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N texts of any length -> [N, 384] float32, by the table, in half precision as stored."""
        vectors = self.sums(texts) @ self._loaded[2]
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        # Over 17,691 passages the cosine with the vector of the network is 0.75 on average.
        return vectors.astype(np.float16).astype(np.float32)

    @cached_property
    def _loaded(self) -> tuple[Any, NDArray[np.float32], NDArray[np.float64]]:
        table = self._arrays["table"] * self._arrays["scale"][:, None]
        projection = self._arrays["projection"].astype(np.float64)
        return load_tokenizer(), table, projection


class StaticEncoder:
    """all-MiniLM-L6-v2, with a table of token vectors as the quick way for passages.

    Questions and all else are encoded by the network, which has a side for questions. Thread-safe.
    """

    quick_is_final = True
    dimension = MiniLMEncoder.dimension

    def __init__(
        self, arrays: Mapping[str, NDArray[Any]], digest: str, full: MiniLMEncoder
    ) -> None:
        """Take the arrays of a table, their digest, and the network they were fitted to."""
        self.fingerprint = f"{STATIC_PREFIX}{digest}"
        self.releases_gil = full.releases_gil
        self.encode = self.encode_document = full.encode
        self.encode_query = full.encode_query
        self.encode_tokens = full.encode_tokens
        self.encode_quick = TokenTable(arrays).encode_quick


def load_token_table(folder: Path = SHIPPED / STATIC) -> tuple[dict[str, NDArray[Any]], str]:
    """The arrays of a table of token vectors, and their sha256.

    ModelError if there is none, or it is damaged.
    """
    arrays, description = load_checkpoint(folder, STATIC)
    check_tensors(arrays, static_shapes(), folder)
    return arrays, description["sha256"]


@cache
def shipped_token_table() -> TokenTable:
    """The table that ships; errors as ``load_token_table``."""
    return TokenTable(load_token_table()[0])


def static_shapes() -> dict[str, tuple[tuple[int, ...], type[np.generic]]]:
    """Shape and dtype of each array of a ``TokenTable``."""
    return {
        "table": ((VOCABULARY, RANK), np.int8),
        "scale": ((VOCABULARY,), np.float32),
        "projection": ((RANK, MiniLMEncoder.dimension), np.float32),
    }


def _pieces(tokens: Sequence[Sequence[int]]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Token ids of texts in pieces, each with the number of its text."""
    for text, ids in enumerate(tokens):
        for start in range(0, len(ids), _PIECE_TOKENS):
            yield text, np.array(ids[start : start + _PIECE_TOKENS], np.int64)
