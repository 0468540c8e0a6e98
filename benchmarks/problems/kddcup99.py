"""KDD Cup 1999: is a network connection normal, and if not, which attack is it?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.files import PublishedFile
from benchmarks.problems.problem import DataDictionary, Problem
from benchmarks.problems.tables import class_numbers, declared_frame, read_table, words

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

_FILE = PublishedFile(
    path="kddcup99/kddcup.data_10_percent.gz",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/kddcup99-mld/"
    "kddcup.data_10_percent.gz",
    sha256="8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
)
_COLUMNS = words(
    "duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot "
    "num_failed_logins logged_in num_compromised root_shell su_attempted num_root "
    "num_file_creations num_shells num_access_files num_outbound_cmds is_host_login "
    "is_guest_login count srv_count serror_rate srv_serror_rate rerror_rate srv_rerror_rate "
    "same_srv_rate diff_srv_rate srv_diff_host_rate dst_host_count dst_host_srv_count "
    "dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate "
    "dst_host_srv_diff_host_rate dst_host_serror_rate dst_host_srv_serror_rate "
    "dst_host_rerror_rate dst_host_srv_rerror_rate label"
)
_RATES = tuple(name for name in _COLUMNS if name.endswith("_rate"))
_FLAGS = ("land", "logged_in", "root_shell", "is_host_login", "is_guest_login")
_SMALL_COUNTS = ("wrong_fragment", "urgent", "num_failed_logins", "num_shells", "su_attempted")
_BOUNDS: dict[str, tuple[float, float]] = {
    "duration": (0, 60_000),  # seconds
    "src_bytes": (0, 65_535),  # more than one TCP window counts as one
    "dst_bytes": (0, 65_535),
    **dict.fromkeys(_FLAGS, (0, 1)),
    **dict.fromkeys(_SMALL_COUNTS, (0, 5)),
    "hot": (0, 100),
    "num_compromised": (0, 1_000),
    "num_root": (0, 1_000),
    "num_file_creations": (0, 100),
    "num_access_files": (0, 10),
    "num_outbound_cmds": (0, 10),
    "count": (0, 511),  # connections of the last two seconds
    "srv_count": (0, 511),
    "dst_host_count": (0, 255),  # of the last 256 connections
    "dst_host_srv_count": (0, 255),
    **dict.fromkeys(_RATES, (0, 1)),
}
# The values listed in the headers of the set's successor, NSL-KDD.
_SERVICES = words(
    "aol auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i ecr_i efs exec "
    "finger ftp ftp_data gopher harvest hostnames http http_2784 http_443 http_8001 imap4 IRC "
    "iso_tsap klogin kshell ldap link login mtp name netbios_dgm netbios_ns netbios_ssn netstat "
    "nnsp nntp ntp_u other pm_dump pop_2 pop_3 printer private red_i remote_job rje shell smtp "
    "sql_net ssh sunrpc supdup systat telnet tftp_u tim_i time urh_i urp_i uucp uucp_path vmnet "
    "whois X11 Z39_50"
)
_CATEGORIES = {
    "protocol_type": ("tcp", "udp", "icmp"),
    "service": _SERVICES,
    "flag": words("OTH REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH"),
}
_NORMAL = "normal."
# The attacks of the training data by the publisher's list.
_ATTACKS = words(
    "back buffer_overflow ftp_write guess_passwd imap ipsweep land loadmodule multihop neptune "
    "nmap perl phf pod portsweep rootkit satan smurf spy teardrop warezclient warezmaster"
)
_LABELS = (_NORMAL, *(f"{attack}." for attack in _ATTACKS))


def _problem(name: str, classes: Mapping[str, int]) -> Problem:
    numbers = tuple(sorted(set(classes.values())))
    dictionary = DataDictionary(bounds=_BOUNDS, categories=_CATEGORIES, classes=numbers)

    def read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
        raw = read_table(
            paths[_FILE.path],
            len(_COLUMNS),
            header=None,
            keep_default_na=False,
        ).set_axis(_COLUMNS, axis=1)
        return declared_frame(raw, dictionary), class_numbers(raw["label"], classes, "label")

    return Problem(
        name=name,
        task="binary" if len(numbers) == 2 else "multiclass",
        files=(_FILE,),
        dictionary=dictionary,
        read=read,
        source="https://archive.ics.uci.edu/dataset/130/kdd+cup+1999+data",
    )


KDDCUP99 = _problem("kddcup99", {label: int(label != _NORMAL) for label in _LABELS})
KDDCUP99_23 = _problem("kddcup99_23", {label: number for number, label in enumerate(_LABELS)})
