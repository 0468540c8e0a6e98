"""Write what the example needs: keys, the agreement, and rows of three hospitals.

In production every hospital makes its own key, shows the public part to the others, and reads the
agreement before it starts its node.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from dpboost.federated import FederatedBoostingClassifier, Identity


def main(folder: Path, noise_seed: int | None = None) -> None:
    """Write everything to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:450]
    identities = []
    for index, part in enumerate(np.split(order, [60, 200])):
        np.savez(folder / f"rows{index}.npz", X=X[part, :5], y=y[part])
        # Only noise from a seed needs to know which rows these are of all.
        settings = {"first_row": (0, 60, 200)[index]}
        (folder / f"party{index}.json").write_text(json.dumps(settings), "utf-8")
        identity = Identity()
        (folder / f"identity{index}").write_bytes(identity.secret)
        identities.append(identity.public)
    bounds = dict(enumerate([(5, 30), (5, 40), (40, 200), (100, 2500), (0, 0.2)]))
    terms = FederatedBoostingClassifier(
        epsilon=4.0,
        delta=1e-6,
        schema={"bounds": bounds, "classes": [0, 1]},
        n_estimators=3,
        random_state=0,
        noise_seed=noise_seed,
    )
    names = ["radius", "texture", "perimeter", "area", "smoothness"]
    agreement = terms.agreement(3, names, identities)
    (folder / "agreement.json").write_text(agreement.to_json(), "utf-8")


if __name__ == "__main__":
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else None
    main(Path(sys.argv[1]).resolve(), seed)
