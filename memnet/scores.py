"""Scores of answers and evidence."""

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised_answer(text: str) -> str:
    """Lower case, no punctuation, no articles, single spaces, as SQuAD's official script does."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, right: Sequence[str]) -> float:
    """1 if the normalised answer is one of the right ones, else 0."""
    return float(normalised_answer(answer) in map(normalised_answer, right))


def f1(answer: str, right: Sequence[str]) -> float:
    """Best harmonic mean of word precision and recall over the right answers, 0..1.

    Source: Rajpurkar et al. 2016, section 6.1.
    """
    return max(
        (_f1(normalised_answer(answer), normalised_answer(one)) for one in right), default=0.0
    )


def set_f1(answers: Sequence[str], right: Sequence[str]) -> float:
    """Harmonic mean of precision and recall of a set of normalised answers, 0..1."""
    given, wanted = set(map(normalised_answer, answers)), set(map(normalised_answer, right))
    return 2 * len(given & wanted) / max(1, len(given) + len(wanted))


def recall(found: Sequence[str], gold: Sequence[str], first: int) -> float:
    """Share of the gold sources among the ``first`` distinct sources found, 0..1."""
    distinct = list(dict.fromkeys(found))[:first]
    return len(set(distinct) & set(gold)) / len(set(gold))


def _f1(answer: str, right: str) -> float:
    answer_words, right_words = answer.split(), right.split()
    if not answer_words or not right_words:
        return float(answer_words == right_words)
    shared = sum((Counter(answer_words) & Counter(right_words)).values())
    return 2 * shared / (len(answer_words) + len(right_words))
