"""How Sphinx builds the site: `make docs` writes it to docs/_build/html."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [
    str(DOCS),
    str(DOCS / "site"),
    str(DOCS.parent / "bench"),
    str(DOCS.parent / "src"),
]

from sources import source_of  # noqa: E402

import privacygauge  # noqa: E402  the package beside this folder, installed or not

project = "PrivacyGauge"
author = "the authors of PrivacyGauge"
version = release = privacygauge.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.linkcode",
    "accessible",
    "docstrings",
    "sphinx_design",
    "generated",
    "sources",
    "gallery",
]
exclude_patterns = ["_build", "examples"]
nitpicky = True
# A type or a name in a docstring is a link where the reference has it, and plain text elsewhere.
nitpick_ignore_regex = [(r"py:.*", r".*")]
default_role = "py:obj"
suppress_warnings = [
    "ref.python",  # two classes are called Table; a signature links to the one that it means
    "toc.empty_glob",  # index.md names pages by patterns where there may be none
]

myst_enable_extensions = ["attrs_block", "colon_fence"]
# As GitHub makes them: the pages are read there too.
myst_heading_anchors = 4
myst_url_schemes = ("http", "https", "mailto", "source")

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 80
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Sources"]
linkcode_resolve = source_of

html_theme = "furo"
html_title = "PrivacyGauge"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
