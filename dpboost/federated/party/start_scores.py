"""Where the scores of a party's rows start when the agreement continues a released model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost.data.table import Table
from dpboost.federated.party.party_rows import model_cells
from dpboost.federated.protocol.agreement import Agreement


def start_scores(table: Table, agreement: Agreement) -> NDArray[np.float64] | None:
    """Predict the rows of a party by the agreed text; None where nothing is continued.

    Parameters
    ----------
    table : Table
    agreement : Agreement

    Returns
    -------
    ndarray of shape (n_outputs, n_rows) or None

    Privacy
    -------
    A map of each row by a public text, whatever that text says: sums that are not numbers count
    as zero, so that no row makes a party refuse.
    """
    earlier = agreement.continued
    if earlier is None:
        return None
    n_outputs = earlier.booster.num_model_per_iteration()
    if not table.n_rows:
        return np.empty((n_outputs, 0))
    scores = earlier.predict(model_cells(table)).reshape(table.n_rows, n_outputs)
    return np.ascontiguousarray(np.nan_to_num(scores).T)
