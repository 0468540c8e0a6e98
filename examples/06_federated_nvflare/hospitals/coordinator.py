"""The controller of the coordinator: it adds what the hospitals send, and keeps the model."""

from collections.abc import Sequence
from pathlib import Path

from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.signal import Signal

from dpboost.federated import Agreement
from dpboost.federated.carried import coordinate_carried
from hospitals.channel import Tasks


class HospitalsController(Controller):
    """Trains under the agreement and writes the model as LightGBM text.

    Parameters
    ----------
    sites : sequence of str
        Names of the parties' sites, by their numbers.
    folder : str
        With the agreement; the model is written there.
    timeout : float, default=600.0
        Seconds to wait for the hospitals at each step.
    """

    def __init__(self, sites: Sequence[str], folder: str, timeout: float = 600.0) -> None:
        super().__init__()
        self._timeout = timeout
        self._sites = list(sites)
        self._folder = folder

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Do nothing: the work is in the flow."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Train; an error ends the run, and the charges stay."""
        folder = Path(self._folder)
        agreement = Agreement.from_json((folder / "agreement.json").read_text("utf-8"))
        tasks = Tasks(self, fl_ctx, abort_signal, self._sites)
        try:
            model = coordinate_carried(agreement, tasks, timeout=self._timeout)
        except Exception as error:
            self.system_panic(f"{type(error).__name__}: {error}", fl_ctx)
            return
        model.booster_.save_model(str(folder / "model.txt"))
        self.log_info(fl_ctx, str(model.privacy_report_))

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Do nothing: nothing is left open."""
