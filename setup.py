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


def openmp_flags(compiler) -> tuple[list[str], list[str]]:
    """Compile and link flags for OpenMP, or two empty lists where a probe does not build."""
    if compiler.compiler_type == "msvc":
        compile_flags, link_flags = ["/openmp"], []
    else:
        compile_flags, link_flags = ["-fopenmp"], ["-fopenmp"]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.c"
        source.write_text(OPENMP_PROBE)
        try:
            objects = compiler.compile(
                [str(source)], output_dir=folder, extra_postargs=compile_flags
            )
            compiler.link_executable(objects, "probe", output_dir=folder, extra_postargs=link_flags)
        except Exception as error:  # noqa: BLE001 - any failure means: build without OpenMP
            sys.stderr.write(f"dpboost: no OpenMP, kernels run on one thread ({error})\n")
            return [], []
    return compile_flags, link_flags


class BuildKernels(build_ext):
    """``build_ext`` that asks the compiler for OpenMP before it builds."""

    def build_extensions(self) -> None:
        """Add the flags of this compiler to every extension, then build."""
        flags = MSVC_FLAGS if self.compiler.compiler_type == "msvc" else GNU_FLAGS
        compile_flags, link_flags = openmp_flags(self.compiler)
        for extension in self.extensions:
            extension.extra_compile_args = flags + compile_flags
            extension.extra_link_args = list(link_flags)
        super().build_extensions()


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
    return extensions


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
