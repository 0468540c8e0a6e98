"""Builds the kernels: every ``cython_ext/<name>.pyx`` becomes ``dpboost._kernels.<name>``."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

DEBUG = os.environ.get("DPBOOST_DEBUG", "0") == "1"
SOURCES = sorted(Path("cython_ext").glob("*.pyx"))
HEADERS = sorted(Path("cython_ext").glob("*.pxd"))
GENERATED = Path("build/cython")

# The map from a row to its bins and gradients must give the same bits in every position of a
# block, so nothing may reorder or fuse floating-point operations: never -ffast-math.
GNU_FLAGS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
MSVC_FLAGS = ["/O2", "/fp:precise"]

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

# Kernels that pass over rows, cells or candidates are built a second time for x86-64-v3 (AVX2,
# Intel 2013, AMD 2015), into a folder that `dpboost._kernels` looks into first where the machine
# can run it. Same source, same flags but one, same bits.
FAST_FOLDER = "v3"
FAST_FLAG = "-march=x86-64-v3"
FAST = {
    "binning",
    "cells",
    "classcounts",
    "fewrows",
    "gain",
    "gradient",
    "histogram",
    "impurity",
    "mergecells",
    "newton",
    "partition",
    "predict",
    "roundrows",
    "rounds",
    "selection",
    "sparsegain",
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
    if compiler.compiler_type == "msvc":
        compile_flags, link_flags = ["/openmp"], []
    else:
        compile_flags, link_flags = ["-fopenmp"], ["-fopenmp"]
    if builds(compiler, OPENMP_PROBE, compile_flags, link_flags):
        return compile_flags, link_flags
    sys.stderr.write("dpboost: no OpenMP, kernels run on one thread\n")
    return [], []


class BuildKernels(build_ext):
    """``build_ext`` that asks the compiler what it can do before it builds."""

    def build_extensions(self) -> None:
        """Add the flags of this compiler to every extension, then build."""
        is_msvc = self.compiler.compiler_type == "msvc"
        flags = MSVC_FLAGS if is_msvc else GNU_FLAGS
        compile_flags, link_flags = openmp_flags(self.compiler)
        fast = not is_msvc and builds(self.compiler, FAST_PROBE, [FAST_FLAG], [])
        if not fast:
            sys.stderr.write("dpboost: no second build of the kernels for x86-64-v3\n")
            self.extensions = [item for item in self.extensions if not is_fast(item)]
        for extension in self.extensions:
            extension.extra_compile_args = flags + compile_flags
            extension.extra_link_args = list(link_flags)
            if is_fast(extension):
                extension.extra_compile_args.append(FAST_FLAG)
            elif extension.name.endswith(".machine") and fast:
                extension.define_macros.append(("DPBOOST_KNOWS_V3", "1"))
        super().build_extensions()

    def copy_extensions_to_source(self) -> None:
        """Copy what was built beside the sources, for an editable install."""
        for extension in self.extensions:
            if is_fast(extension):
                Path("dpboost", "_kernels", FAST_FOLDER).mkdir(exist_ok=True)
        super().copy_extensions_to_source()

    def build_extension(self, extension: Extension) -> None:
        """Build one; the two builds of a kernel have one source, so each has its own objects."""
        folder = self.build_temp
        if is_fast(extension):
            self.build_temp = os.path.join(folder, FAST_FOLDER)
        try:
            super().build_extension(extension)
        finally:
            self.build_temp = folder


def is_fast(extension: Extension) -> bool:
    """Tell whether this is the second build of a kernel."""
    return extension.name.split(".")[-2] == FAST_FOLDER


def second(extension: Extension) -> Extension:
    """Return the second build of a kernel that is translated to C already."""
    room, _, stem = extension.name.rpartition(".")
    return Extension(
        f"{room}.{FAST_FOLDER}.{stem}",
        list(extension.sources),
        depends=list(extension.depends),
        include_dirs=list(extension.include_dirs),
        define_macros=list(extension.define_macros),
    )


def kernel(source: Path) -> Extension:
    """One compiled module per kernel file."""
    return Extension(
        f"dpboost._kernels.{source.stem}",
        [source.as_posix()],
        depends=[path.as_posix() for path in SOURCES + HEADERS],
        include_dirs=[np.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
    )


def generated_c() -> list[Extension]:
    """Translate the kernels to C, anew where the last build here had other directives."""
    # Time stamps do not tell: without this a debug build after a normal one would change nothing.
    stamp, settings = GENERATED / "directives", repr(DIRECTIVES)
    extensions = cythonize(
        [kernel(source) for source in SOURCES],
        include_path=["cython_ext"],
        compiler_directives=DIRECTIVES,
        annotate=DEBUG,
        build_dir=GENERATED.as_posix(),
        force=not stamp.exists() or stamp.read_text() != settings,
    )
    stamp.write_text(settings)
    hot = [item for item in extensions if item.name.rpartition(".")[2] in FAST]
    return extensions + [second(item) for item in hot]


class SourceDistribution(sdist):
    """``sdist`` that also holds what a reader of the sources needs: tests, examples, benchmarks."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Add the files of these folders that are not made by running them."""
        made = {".pyc", ".pyo", ".so", ".pyd"}
        more = [Path("CHANGELOG.md")]
        for folder in ("benchmarks", "examples", "tests"):
            more += [path for path in Path(folder).rglob("*") if path.is_file()]
        names = {path.as_posix() for path in more if path.suffix not in made}
        super().make_release_tree(base_dir, sorted(names | set(files)))


setup(
    ext_modules=generated_c(),
    cmdclass={"build_ext": BuildKernels, "sdist": SourceDistribution},
)
