"""Print what every theorem of the proofs assumes, and fail on anything that is not allowed.

Run in this folder once the proofs are built. Writes ``tables/assumptions.txt``.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

#: Axioms of the real numbers of Coq's standard library, and of its functions; no other one.
ALLOWED = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
#: What would leave something unproved.
GAPS = r"\b(Admitted|admit|Abort|Axioms?|Parameters?|Conjectures?|give_up|bypass_check)\b"
FOLDER = Path(__file__).parent


def without_comments(text: str) -> str:
    """Return a source without its comments, which may be nested."""
    kept, depth, position = [], 0, 0
    while position < len(text):
        pair = text[position : position + 2]
        if pair in ("(*", "*)"):
            depth += 1 if pair == "(*" else -1
            position += 2
            continue
        if depth == 0:
            kept.append(text[position])
        position += 1
    return "".join(kept)


def statements(text: str) -> list[str]:
    """Return the names of the theorems of a file; its lemmas come in by what uses them."""
    found = re.findall(r"^\s*Theorem\s+(\w+)", text, re.MULTILINE)
    return [*found, *re.findall(r"^Definition\s+(\w+(?:_bounded|_reached)) :=", text, re.MULTILINE)]


def gaps(text: str) -> list[str]:
    """Return the commands of a file that leave something unproved."""
    return re.findall(GAPS, text)


def assumptions(names: list[tuple[str, str]]) -> dict[str, set[str]]:
    """Return the axioms under each theorem, as Coq prints them."""
    files = sorted({file for file, _ in names})
    lines = [f"From DPBoost Require {file}." for file in files]
    for file, name in names:
        full = f"DPBoost.{file}.{name}"
        lines += [f'Goal True. idtac "THEOREM {file}.{name}". Abort.', f"Print Assumptions {full}."]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "Assumptions.v")
        path.write_text("\n".join(lines) + "\n")
        command = ["coqc", "-Q", str(FOLDER), "DPBoost", str(path)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return read(printed)


def read(printed: str) -> dict[str, set[str]]:
    """Return the axioms of each theorem in what Coq printed."""
    found: dict[str, set[str]] = {}
    for block in printed.split("THEOREM ")[1:]:
        name, _, rest = block.partition("\n")
        if "Closed under the global context" in rest:
            found[name] = set()
        elif "Axioms:" in rest:
            found[name] = set(re.findall(r"^([\w.]+)\s*:", rest, re.MULTILINE)) - {"Axioms"}
        else:
            raise SystemExit(f"Coq printed no assumptions of {name}.")
    return found


def main() -> None:
    """Check all files that the project lists."""
    listed = re.findall(r"^(\w+)\.v$", Path(FOLDER, "_CoqProject").read_text(), re.MULTILINE)
    known = {path.stem for path in FOLDER.glob("*.v")} - {"Extract"}
    if set(listed) != known:
        raise SystemExit(f"_CoqProject does not list {sorted(known ^ set(listed))}.")
    names, faults = [], []
    for file in listed:
        text = without_comments(Path(FOLDER, f"{file}.v").read_text())
        faults += [f"{file}.v: {gap}" for gap in gaps(text)]
        names += [(file, name) for name in statements(text)]
    found = assumptions(names)
    if len(found) != len(names):
        faults.append(f"{len(names)} theorems, but Coq printed the assumptions of {len(found)}")
    lines = []
    for name, axioms in found.items():
        faults += [f"{name} assumes {axiom}" for axiom in sorted(axioms - ALLOWED)]
        lines.append(f"{name}: {', '.join(sorted(axioms)) or 'no axiom'}")
    text = "\n".join(lines)
    Path(FOLDER, "tables", "assumptions.txt").write_text(text + "\n")
    free = sum(not axioms for axioms in found.values())
    print(text)
    print(f"{len(found)} theorems, {free} of them without any axiom, the others with at most:")
    print("\n".join(f"    {axiom}" for axiom in sorted(ALLOWED)))
    if faults:
        sys.exit("\n".join(["NOT ALLOWED:", *faults]))


if __name__ == "__main__":
    main()
