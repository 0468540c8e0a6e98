"""What an agreement says of a fit, as the engine has it."""

from __future__ import annotations

from dpboost.data.column_types import ColumnFacts
from dpboost.federated.protocol.agreement import Agreement
from dpboost.schema import lightgbm_name
from dpboost.training.privacy_params import PrivacyRequest
from dpboost.training.request import Inputs


def agreed_inputs(agreement: Agreement) -> Inputs:
    """Return what is public of the tables that an agreement is about."""
    names = tuple(lightgbm_name(name) for name in agreement.features)
    schema = agreement.declared
    return Inputs(
        columns=ColumnFacts(feature_names=names, categorical=frozenset(agreement.listed)),
        schema=schema.resolve(names),
        classes=schema.classes if agreement.task != "regression" else None,
    )


def agreed_privacy(agreement: Agreement) -> PrivacyRequest:
    """Return the guarantee that an agreement asks for."""
    return PrivacyRequest(
        epsilon=float(agreement.epsilon),
        delta=float(agreement.delta),
        neighbours=agreement.relation,
        schema=agreement.declared,
        assume_public=(),
        noise_seed=agreement.noise_seed,
        rows_per_user=agreement.rows_of_user,
        part=None if agreement.folds is None else agreement.folds.share,
    )
