"""micrograd learn: the course, as a page that opens in the browser, as one file, or as a static site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from micrograd.learn import texts


def add_arguments(parser: Any) -> None:
    """Where the course goes."""
    parser.add_argument("--save", metavar="FILE", help="write the course as one HTML file, and open nothing")
    parser.add_argument("--site", metavar="DIR", help="write a static site: course, explorer and workshop")
    parser.add_argument(
        "--pyodide",
        metavar="DIR",
        help="with --site: the unpacked npm package `pyodide`, for the workshop in the browser",
    )
    parser.add_argument("--lang", default="en", choices=texts.languages(), help="the language of the course")
    parser.add_argument("--no-browser", action="store_true", help="print where the course is and open nothing")


def run(args: Any) -> int:
    """Do it; gives the exit code."""
    from micrograd.cli.main import BadArgument
    from micrograd.learn.course import site

    if args.pyodide and not args.site:
        raise BadArgument("--pyodide goes with --site")
    if args.site:
        for path in site.build(Path(args.site), Path(args.pyodide) if args.pyodide else None):
            print(f"wrote {path}")
        return 0
    if args.save:
        path = Path(args.save)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(site.course(language=args.lang), encoding="utf-8")
    else:
        site.home().mkdir(parents=True, exist_ok=True)
        for name, text in site.courses({}).items():  # in every language, so that the page can switch
            (site.home() / name).write_text(text, encoding="utf-8")
        path = site.home() / site.page_name("course", args.lang)
    print(f"The course: {path.resolve().as_uri()}  (start here; progress is kept in your browser)")
    if not (args.save or args.no_browser):
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0
