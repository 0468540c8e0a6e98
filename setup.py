"""Builds the kernels: every ``cython_ext/<name>.pyx`` becomes ``dpboost._kernels.<name>``.

What Cython needs of memory views lies once in ``dpboost._kernels._shared``, not in every kernel:
that is most of the time a build takes (tested with Cython 3.3).
"""

from __future__ import annotations

import copy
import os
import re
import sys
import sysconfig
import tempfile
from pathlib import Path

import Cython
import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

DEBUG = os.environ.get("DPBOOST_DEBUG", "0") == "1"
# Kernels that end the process on an error of memory or arithmetic, for .ci/sanitize: the names of
# gcc's and clang's sanitizers, as in "address,undefined".
SANITIZE = os.environ.get("DPBOOST_SANITIZE", "")
SANITIZE_FLAGS = [
    f"-fsanitize={SANITIZE}",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
    "-O1",  # overrides the other: a build of minutes, and places in the sources that are right
    "-g",
]
SOURCES = sorted(Path("cython_ext").glob("*.pyx"))
GENERATED = Path("build/cython")
SHARED = "dpboost._kernels._shared"

# The map from a row to its bins and gradients must give the same bits in every position of a
# block, so nothing may reorder or fuse floating-point operations: never -ffast-math.
FLAGS = ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
# No symbols but the exported one, no path of this machine: two builds have the same bytes.
FLAGS.append(f"-ffile-prefix-map={Path.cwd().as_posix()}=.")
LINK_FLAGS = {"linux": ["-Wl,-s"], "win32": ["-Wl,--no-insert-timestamp"]}.get(sys.platform, [])
# The time in a wheel says nothing of its content.
os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")

DIRECTIVES = {
    "language_level": 3,
    "embedsignature": True,
    "boundscheck": DEBUG,
    "wraparound": DEBUG,
    "initializedcheck": DEBUG,
    "nonecheck": DEBUG,
    "cdivision": not DEBUG,
}

OPENMP_PROBE = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n"

# Kernels that gain a tenth of their time or more from it (`python -m benchmarks run kernels`) are
# built a second time for x86-64-v3 (AVX2, Intel 2013, AMD 2015), into a folder that
# `dpboost._kernels` looks into first where the machine can run it. Same source, same flags but one,
# same bits.
FAST_FOLDER = "v3"
FAST_FLAG = "-march=x86-64-v3"
FAST = {
    "binning",
    "small_tree_gain",
    "gain",
    "impurity",
    "bin_merging",
    "newton",
    "predict",
    "training_pass",
    "selection",
}
FAST_PROBE = """
#if !defined(__x86_64__)
#error "another processor"
#endif
int main(void) { return __builtin_cpu_supports("x86-64-v3") < 0; }
"""


def builds(compiler, program: str, compile_flags: list[str], link_flags: list[str]) -> bool:
    """Tell whether a small program builds with these flags, and say why where it does not."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.c"
        source.write_text(program)
        try:
            objects = compiler.compile(
                [str(source)], output_dir=folder, extra_postargs=compile_flags
            )
            compiler.link_executable(objects, "probe", output_dir=folder, extra_postargs=link_flags)
        except Exception as error:  # noqa: BLE001 - any failure means: do without
            sys.stderr.write(f"dpboost: a probe does not build ({error})\n")
            return False
    return True


def openmp_flags(compiler) -> tuple[list[str], list[str]]:
    """Compile and link flags for OpenMP, or two empty lists where a probe does not build."""
    if builds(compiler, OPENMP_PROBE, ["-fopenmp"], ["-fopenmp"]):
        return ["-fopenmp"], ["-fopenmp"]
    sys.stderr.write("dpboost: no OpenMP, kernels run on one thread\n")
    return [], []


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def extension_suffix() -> str:
    """Return how the names of compiled modules end for this Python."""
    return sysconfig.get_config_var("EXT_SUFFIX")


def stamped(stamp: Path, settings: str) -> bool:
    """Tell whether the last build here had these settings, and note them.

    Time stamps of sources do not tell: without this a debug build after a normal one would change
    nothing.
    """
    if stamp.exists() and stamp.read_text() == settings:
        return True
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(settings)
    return False


class BuildKernels(build_ext):
    """``build_ext`` on all processors that asks the compiler what it can do before it builds."""

    def finalize_options(self) -> None:
        """Build in parallel unless told otherwise, on Windows with gcc.

        The kernels need integers of 128 bits, which Microsoft's compiler does not have.
        """
        super().finalize_options()
        if self.compiler is None and sys.platform == "win32":
            self.compiler = "mingw32"
        if self.parallel is None:
            self.parallel = processors()

    def run(self) -> None:
        """Build; an editable install keeps its objects, to compile what has changed the next time.

        Left alone it builds in a temporary folder.
        """
        if self.editable_mode:
            tag = extension_suffix().split(".")[1]
            self.build_lib = os.path.join("build", f"lib.{tag}")
            self.build_temp = os.path.join("build", f"temp.{tag}")
        super().run()

    def build_extensions(self) -> None:
        """Add the flags of this compiler to every extension, then build."""
        compile_flags, link_flags = openmp_flags(self.compiler)
        if SANITIZE:
            compile_flags, link_flags = compile_flags + SANITIZE_FLAGS, link_flags + SANITIZE_FLAGS
        fast = not SANITIZE and builds(self.compiler, FAST_PROBE, [FAST_FLAG], [])
        if not fast:
            sys.stderr.write("dpboost: no second build of the kernels for x86-64-v3\n")
            self.extensions = [item for item in self.extensions if not is_fast(item)]
        for extension in self.extensions:
            extension.include_dirs = [np.get_include()]
            extension.define_macros = [("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")]
            extension.extra_compile_args = FLAGS + compile_flags
            extension.extra_link_args = link_flags + LINK_FLAGS
            if is_fast(extension):
                extension.extra_compile_args.append(FAST_FLAG)
            elif extension.name.endswith(".cpu_features") and fast:
                extension.define_macros.append(("DPBOOST_KNOWS_V3", "1"))
        settings = [self.compiler.compiler_so, FLAGS, compile_flags, link_flags]
        settings += [LINK_FLAGS, fast, np.__version__]
        if not stamped(Path(self.build_temp, "settings"), repr(settings)):
            self.force = True
        # The slowest first, so that no processor waits for the last one.
        self.extensions.sort(key=lambda item: -os.path.getsize(item.sources[0]))
        super().build_extensions()

    def copy_extensions_to_source(self) -> None:
        """Copy what was built beside the sources, for an editable install."""
        build_py = self.get_finalized_command("build_py")
        Path("dpboost", "_kernels", FAST_FOLDER).mkdir(exist_ok=True)
        super().copy_extensions_to_source()
        built = {
            Path(self._get_inplace_equivalent(build_py, extension)[0]).resolve()
            for extension in self.extensions
        }
        for path in Path("dpboost", "_kernels").resolve().rglob("*" + extension_suffix()):
            if path in built:
                path.touch()  # also where an older build was still that of its source
            else:
                path.unlink()  # a kernel, or the second build of one, that is no more

    def build_extension(self, extension: Extension) -> None:
        """Build one; the two builds of a kernel have one source, so each has its own objects."""
        # A copy, because other threads build the next ones with this object.
        job = copy.copy(self)
        if is_fast(extension):
            job.build_temp = os.path.join(self.build_temp, FAST_FOLDER)
        super(BuildKernels, job).build_extension(extension)


def is_fast(extension: Extension) -> bool:
    """Tell whether this is the second build of a kernel."""
    return extension.name.split(".")[-2] == FAST_FOLDER


def second(extension: Extension) -> Extension:
    """Return the second build of a kernel that is translated to C already."""
    room, _, stem = extension.name.rpartition(".")
    return Extension(f"{room}.{FAST_FOLDER}.{stem}", list(extension.sources))


def generated_c() -> list[Extension]:
    """Translate the kernels to C; a file whose text stays the same keeps its time.

    A new environment of pip brings new time stamps of the headers of Cython and numpy, so that all
    kernels are translated once more. Only those whose C changes are compiled.
    """
    before = {path: (path.read_bytes(), path.stat()) for path in GENERATED.rglob("*.c")}
    settings = repr((DIRECTIVES, DEBUG, Cython.__version__))
    kernels = [Extension(f"dpboost._kernels.{path.stem}", [path.as_posix()]) for path in SOURCES]
    shared = Extension(SHARED, ["cython_ext/_shared.c"])
    extensions = cythonize(
        [*kernels, shared],
        include_path=["cython_ext"],
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=SHARED,
        annotate=DEBUG,
        build_dir=GENERATED.as_posix(),
        force=not stamped(GENERATED / "settings", settings),
        nthreads=processors(),
    )
    for path, (text, status) in before.items():
        if path.read_bytes() == text:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    hot = [item for item in extensions if item.name.rpartition(".")[2] in FAST]
    return extensions + [second(item) for item in hot]


FOLDERS = ("benchmarks", "checker", "cython_ext", "docs", "examples", "proofs", "tests")
#: What running the sources makes of them, by the ends and by the beginnings of paths.
MADE_ENDS = (".pyc", ".pyo", ".so", ".pyd", ".vo", ".vok", ".vos", ".glob", ".aux", ".cache")
MADE_BEGINNINGS = (
    *("docs/_build/", "docs/outside/", "docs/gallery/", "docs/reference/generated/"),
    *("docs/sg_execution_times", "proofs/build/", "proofs/extracted."),
    *("proofs/CoqMakefile", "proofs/.CoqMakefile"),
)


class SourceDistribution(sdist):
    """``sdist`` of what a build and a reader need: kernels, proofs, tests, examples, benchmarks.

    Certificates name pages of ``docs`` and the record of an audit in ``benchmarks``.
    """

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Add the files of these folders that are not made by running them; leave C out."""
        more = [Path("CHANGELOG.md")]
        for folder in FOLDERS:
            more += [path for path in Path(folder).rglob("*") if path.is_file()]
        names = {path.as_posix() for path in more}
        names -= {name for name in names if name.endswith(MADE_ENDS)}
        names -= {name for name in names if name.startswith(MADE_BEGINNINGS)}
        names |= {file for file in files if not file.startswith("build")}
        super().make_release_tree(base_dir, sorted(names))


#: A link, or a picture if it begins with an exclamation mark, to a file beside the README.
BESIDE = re.compile(r"(!?)\[([^][]*)\]\((?![a-z]+:|#)[^()]*\)")


def index_page(readme: str) -> str:
    """Return a README as a package index can show it, where no file lies beside it.

    A picture becomes what it shows in words, and a link its text.
    """
    return BESIDE.sub(lambda found: f"*{found[2]}*" if found[1] else found[2], readme)


# The processes that translate may import this file again.
if __name__ == "__main__":
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        sys.exit(
            "dpboost is not built for free-threaded Python: nothing of it was tested there. "
            "Install it for the ordinary build of the same version (python3.13, not python3.13t)."
        )
    setup(
        long_description=index_page(Path("README.md").read_text(encoding="utf-8")),
        long_description_content_type="text/markdown",
        ext_modules=generated_c(),
        cmdclass={"build_ext": BuildKernels, "sdist": SourceDistribution},
    )
