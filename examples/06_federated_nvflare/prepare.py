"""Write what the example needs: keys, the agreement, and rows of five hospitals.

In production every hospital makes its own key, shows the public part to the others, and reads the
agreement before it joins.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from dpboost.federated import FederatedBoostingClassifier, Identity

STARTS = (60, 150, 290, 380)


def main(folder: Path, noise_seed: int | None = None) -> None:
    """Write a folder for each site, and one for the coordinator."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:450]
    places, identities = [folder / "coordinator"], []
    places[0].mkdir(parents=True, exist_ok=True)
    for index, part in enumerate(np.split(order, STARTS)):
        place = folder / f"site-{index + 1}"
        place.mkdir(exist_ok=True)
        np.savez(place / "rows.npz", X=X[part, :5], y=y[part])
        identity = Identity()
        (place / "identity").write_bytes(identity.secret)
        settings = {"party": index, "first_row": (0, *STARTS)[index]}
        (place / "party.json").write_text(json.dumps(settings), "utf-8")
        places.append(place)
        identities.append(identity.public)
    bounds = dict(enumerate([(5, 30), (5, 40), (40, 200), (100, 2500), (0, 0.2)]))
    terms = FederatedBoostingClassifier(
        epsilon=4.0,
        delta=1e-6,
        schema={"bounds": bounds, "classes": [0, 1]},
        n_estimators=20,
        random_state=0,
        noise_seed=noise_seed,
    )
    names = ["radius", "texture", "perimeter", "area", "smoothness"]
    agreement = terms.agreement(len(identities), names, identities)
    for place in places:
        (place / "agreement.json").write_text(agreement.to_json(), "utf-8")


if __name__ == "__main__":
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else None
    main(Path(sys.argv[1]).resolve(), seed)
