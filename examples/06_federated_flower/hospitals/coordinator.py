"""The app of the coordinator: it asks for noisy sums and keeps the model."""

from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid

from dpboost.federated import Agreement, FederatedBoostingClassifier
from dpboost.federated.protocol.flower import FlowerChannel, server_app


def run(grid: Grid, context: Context) -> None:
    """Train under the agreement and write the model as LightGBM text."""
    agreement = Agreement.from_json(Path(str(context.run_config["agreement"])).read_text("utf-8"))
    channel = FlowerChannel(grid, agreement.n_parties)
    model = FederatedBoostingClassifier(schema=agreement.schema, verbosity=0)
    model.fit_channel(channel, agreement)
    model.booster_.save_model(str(context.run_config["model"]))
    print(model.privacy_report_)


app = server_app(run)
