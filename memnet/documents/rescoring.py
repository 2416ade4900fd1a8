"""The best candidates of a hop, compared again by better vectors than those that are stored."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memnet.documents.candidates import Candidates, LinkFeature, SlotFeature
from memnet.documents.question import Question
from memnet.ingest.slots import passage_key

_CHARACTERS = 400
"""Of a passage, its title included: ten then take about 80 ms of processor time, which two cores
share."""


def compared_again(
    candidates: Candidates, best: NDArray[np.int64], question: Question
) -> Candidates:
    """Candidates, some of which are compared with the question by newly encoded vectors.

    They stay as they are where all of their vectors are full, or the question has nothing to encode
    them by.

    The new cosines are shifted by one constant, so that their mean stays: quick vectors lie nearer
    to the question or farther from it as a whole, and what is compared again is to change places
    among itself. Those of full vectors are shifted along, so that all of the best are compared in
    full. Facts, whose keys are few words, and messages stay as they are.

    Args:
        candidates: of a hop.
        best: [A] int64: indices of those to compare.
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
