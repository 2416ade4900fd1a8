"""Candidates of a hop, compared again by better vectors than those that are stored."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memnet.documents.candidates import Candidates, LinkFeature, SlotFeature
from memnet.documents.question import Question
from memnet.ingest.slots import passage_key

_CHARACTERS = 400
"""Of a passage, its title included: it then takes 7 to 9 ms of processor time."""


def next_to_border(logits: NDArray[np.float32], read: int, count: int) -> NDArray[np.int64]:
    """Positions of the candidates of which it is least certain whether they are read.

    Their logits are nearest to the middle between the last that is read and the next one. Where all
    are read, these are all of them.

    Args:
        logits: [K] float32, falling.
        read: how many are read.
        count: how many to give.

    Returns:
        [A] int64, rising; A is at most ``count`` if there are more than ``read`` candidates.
    """
    if len(logits) <= read:
        return np.arange(len(logits) if count else 0)
    middle = (logits[read - 1] + logits[read]) / 2
    return np.sort(np.argsort(np.abs(logits - middle), kind="stable")[:count])


def compared_again(
    candidates: Candidates, best: NDArray[np.int64], question: Question
) -> Candidates:
    """Candidates, some of which are compared with the question by newly encoded vectors.

    They stay as they are where all of their vectors are full, or the question has nothing to encode
    them by.

    The new cosines are shifted by one constant, so that their mean stays: quick vectors lie nearer
    to the question or farther from it as a whole, and what is compared again is to change places
    among itself. Those of full vectors are shifted along, so that all of these are compared in
    full. Facts, whose keys are few words, and messages stay as they are.

    Args:
        candidates: of a hop.
        best: [A] int64: indices of those to compare, such as ``next_to_border`` gives.
        question: that is asked; its ``full`` encodes their keys.
    """
    full = question.full
    if full is None:
        return candidates
    own = [index for index in best.tolist() if not candidates.is_fact[index]]
    if candidates.messages is not None:
        own = [index for index in own if not candidates.messages.is_message[index]]
    if len(own) < 2:
        return candidates
    ids = [candidates.ids[index] for index in own]
    quick = frozenset(ids) if full.of_all else question.store.quick.of_slots(ids)
    if not quick:
        return candidates
    features, links = candidates.features.copy(), candidates.links
    cosines = features[own, SlotFeature.DENSE]
    before = cosines.mean()
    slots = question.fetched.slots([slot for slot in ids if slot in quick])
    keys = full.encode([passage_key(slot.title, slot.text)[:_CHARACTERS] for slot in slots])
    cosines[[slot in quick for slot in ids]] = keys @ question.vector
    cosines += before - cosines.mean()
    features[own, SlotFeature.DENSE] = cosines
    if len(links.candidate):
        of_links = links.features.copy()
        of_links[:, LinkFeature.DENSE] = features[links.candidate, SlotFeature.DENSE]
        links = replace(links, features=of_links)
    return replace(candidates, features=features, links=links)
