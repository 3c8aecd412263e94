"""The expressions of a workload, as the terms that the table has: a header, positive words, excluded words."""

import numpy as np
import numpy.typing as npt

from tidings.columns.block import EXCLUDED_SHIFT, MORE_CLAUSES

Int64s = npt.NDArray[np.int64]


def clause_terms(
    n_clauses: Int64s, words: list[Int64s], positive: list[Int64s], excluded: Int64s
) -> tuple[Int64s, npt.NDArray[np.uint32]]:
    """The offsets and terms of expressions of `n_clauses` clauses each.

    A clause asks for the first `positive` of its words and excludes the `excluded` next ones; it has fewer where its
    row of words ends (-1).
    """
    columns: list[Int64s] = []
    present: list[npt.NDArray[np.bool_]] = []
    for i, (rows, asked) in enumerate(zip(words, positive, strict=True)):
        exists = n_clauses > i
        known = (rows >= 0).sum(axis=1)
        n_positive = np.minimum(asked, known)
        n_excluded = np.minimum(excluded, known - n_positive)
        more = np.where(n_clauses > i + 1, MORE_CLAUSES, 0)
        columns.append(n_positive | n_excluded << EXCLUDED_SHIFT | more)
        present.append(exists)
        for j in range(rows.shape[1]):
            columns.append(rows[:, j])
            present.append(exists & (j < n_positive + n_excluded))
    mask = np.stack(present, axis=1)
    start = np.zeros(len(mask) + 1, np.int64)
    np.cumsum(mask.sum(axis=1), out=start[1:])
    return start, np.stack(columns, axis=1)[mask].astype(np.uint32)
