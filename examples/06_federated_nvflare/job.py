"""Run the job of NVFlare: five hospitals and a coordinator, in its simulator on this machine."""

import sys
from pathlib import Path

from hospitals.coordinator import HospitalsController
from hospitals.holder import HospitalExecutor
from nvflare.job_config.api import FedJob
from nvflare.recipe.sim_env import SimEnv

SITES = [f"site-{number}" for number in range(1, 6)]


def main(folder: Path) -> None:
    """Train with what ``prepare.py`` has written to a folder."""
    job = FedJob(name="hospitals", min_clients=len(SITES), mandatory_clients=SITES)
    # Each site has it installed; the job brings what is in `hospitals`.
    job.set_app_packages(["dpboost"])
    job.to(HospitalsController(SITES, str(folder / "coordinator")), "server")
    for site in SITES:
        job.to(HospitalExecutor(str(folder / site)), site, tasks=["dpboost"])
    SimEnv(clients=SITES, workspace_root=str(folder / "simulation")).deploy(job)
    print(f"The model is in {folder / 'coordinator' / 'model.txt'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
