"""What a reader of a fit over parties has to read does not grow."""

import threading

from dpboost.federated.secagg.keys import Identity
from tests.walk_of_a_fit import called_files, lines_of, two_parties

MOST_FILES, MOST_LINES = 110, 6200


def test_files_and_lines_of_a_fit_of_two_parties():
    found = called_files(two_parties())
    assert {"training/fit.py", "federated/party/party_session.py"} <= found
    assert len(found) <= MOST_FILES
    assert sum(lines_of("federated")) <= MOST_LINES


def test_what_runs_in_another_thread_is_counted():
    def call():
        thread = threading.Thread(target=Identity)
        thread.start()
        thread.join()

    assert called_files(call) == {"federated/secagg/keys.py"}
