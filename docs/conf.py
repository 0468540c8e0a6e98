"""How the site is made: ``make -C docs html``."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent)]

import dpboost  # noqa: E402

project = "DPBoost"
author = copyright = "DPBoost developers"
version = release = dpboost.__version__

extensions = [
    "outside_pages",
    "privacy_sections",
    "glossary_links",
    "mathml",
    "command_help",
    "parameter_table",
    "stacked_tables",
    "breakable_names",
    "myst_parser",
    "sphinx_design",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/*.ipynb"]
templates_path = ["_templates"]
nitpicky = False
# Tables and messages quote code, which has straight quotes.
smartquotes = False

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
suppress_warnings = ["config.cache"]
math_renderer = html_math_renderer = "mathml"

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_default_options = {"show-inheritance": True}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Pictures may be drawn where nobody looks; a gallery page that fails ends the build.
warnings.filterwarnings("ignore", category=UserWarning, message=".*non-interactive.*")
# A warning that a gallery page shows names no folder of the machine that built the site.
warnings.formatwarning = lambda message, category, *place: f"{category.__name__}: {message}\n"
# What numpydoc says of a docstring before `privacy_sections` has moved that section.
warnings.filterwarnings("ignore", category=UserWarning, message="Unknown section Privacy")
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "within_subsection_order": "gallery_order.FirstModelFirst",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "min_reported_time": 0,
}

html_theme = "pydata_sphinx_theme"
html_title = "DPBoost"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["versions.js"]
html_show_sourcelink = False
html_copy_source = False
html_scaled_image_link = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_align": "left",
    "show_prev_next": True,
    "navbar_end": ["versions", "theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "install": [], "faq": [], "tutorial/hospital": []}
