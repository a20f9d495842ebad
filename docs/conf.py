"""Settings of Sphinx: ``make docs``, or ``sphinx-build -W docs docs/_build/html``."""

import sys
from pathlib import Path

import mkclust

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "mkclust"
author = copyright = "mkclust developers"
release = version = mkclust.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "formulas",
    "commands",
]
exclude_patterns = ["_build"]
default_role = "code"  # `name` in a docstring
smartquotes = False  # -- begins an option
highlight_language = "none"  # of blocks without a language: commands and output

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings have the shapes
napoleon_google_docstring = False
napoleon_custom_sections = ["Attributes"]  # keep the section as it is written
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "gallery.InOrder",
    "capture_repr": ("_repr_html_",),
    "image_srcset": ["2x"],
    "min_reported_time": 60,
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["formulas.css", "gallery.css"]
html_title = f"mkclust {release}"
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
