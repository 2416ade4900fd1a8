"""The loss of a whole batch."""

import torch

from benchmarks.train_reader import batch_loss
from memnet.reader.network import Right, SpanTensors, reading_loss
from memnet.reader.spans import KINDS


def test_it_is_that_of_the_rows() -> None:
    torch.manual_seed(0)
    start, end, relevance = torch.randn(3, 4, 30).unbind(0)
    scores = SpanTensors(start, end, relevance, torch.randn(4, len(KINDS)).log_softmax(1))
    kinds = [[number == row or number == 2 for number in range(len(KINDS))] for row in range(4)]
    right = [
        Right([(3, 5), (7, 7)], [(0, 4, True), (5, 9, False)], kinds[0]),
        Right([], [(2, 8, True), (9, 12, True), (13, 20, False)], kinds[1]),
        Right([(1, 1)], [], kinds[2]),
        Right([], [(0, 29, False)], kinds[3]),
    ]
    torch.testing.assert_close(batch_loss(scores, right), reading_loss(scores, right))
