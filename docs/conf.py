"""The documentation site: `make docs` builds it into docs/_build/html. Warnings are errors."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from api_page import write_api  # noqa: E402
from micrograd import __version__  # noqa: E402

project, author = "micrograd-next", "The micrograd-next authors"
copyright = "The micrograd-next authors, MIT licence"
release = __version__
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a page may begin at level 2
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}
html_theme = "pydata_sphinx_theme"
html_title = "micrograd"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["llms.txt"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "friendly",
}
html_sidebars = {name: [] for name in ("index", "api", "getting-started", "how-it-works")}
pygments_style = "friendly"
toc_object_entries_show_parents = "hide"  # `grad()` in the list beside the API page, not `micrograd.grad()`

write_api(Path(__file__).parent / "api.md")


def _links(app, docname, source):
    """Let links of a page to files of the repository become text where the site does not have them."""
    import re

    here = Path(__file__).parent
    text = re.sub(r"^([\w-]+\*)$\n", lambda m: m[0] if any(here.glob(f"{m[1]}.md")) else "", source[0], flags=re.M)
    text = re.sub(r"\[([^\]]*)\]\((?:\.\./)+(?:examples|src|tests|benchmarks|tools)/[^)]*\)", r"`\1`", text)
    source[0] = re.sub(r"\[([^\]]*)\]\(\.\./((?:README|CONTRIBUTING|CHANGELOG|SECURITY)\.md)\)", r"`\1`", text)


def _course(app, exception):
    """Put the course beside the pages; with the workshop in the browser where `make site` has fetched Pyodide."""
    if exception is None and app.builder.name == "html":
        from micrograd.learn.course import site

        pyodide = ROOT / "node_modules" / "pyodide"
        list(site.build(Path(app.outdir) / "course", pyodide if pyodide.exists() else None, "../"))


def setup(app):
    app.connect("source-read", _links)
    app.connect("build-finished", _course)
