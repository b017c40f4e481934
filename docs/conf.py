"""Sphinx: `make docs` builds the site under docs/_build/html. Nothing is fetched, while building or reading."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")])

import api_pages  # noqa: E402

import ctbnlearn  # noqa: E402

api_pages.write(HERE / "reference")

project = "ctbnlearn"
author = "The ctbnlearn developers"
release = version = ctbnlearn.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "cli_reference",
]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery", "figures/*.ipynb", "figures/*.py"]
templates_path = ["_templates"]
nitpicky = False
suppress_warnings = ["config.cache"]

# tutorials run from the start at every build: what they print is what this version prints
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_in_temp = False  # tutorials read the tables beside them
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# scripts of docs/gallery run at every build, too, and become the pages of docs/figures
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "figures",
    "abort_on_example_error": True,
    "run_stale_examples": True,
    "write_computation_times": False,
    "min_reported_time": 3600,
    "show_signature": False,
    "download_all_examples": False,
}

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "ctbnlearn"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": []}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
