"""micrograd lesson: write a lesson in Markdown, check its numbers at each save, and build it into one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from micrograd.cli.main import BadArgument

ACTIONS = ("new", "check", "watch", "build")


def add_arguments(parser: Any) -> None:
    """The action and the files."""
    parser.add_argument(
        "action",
        choices=ACTIONS,
        help="new starts a file; check computes its numbers; watch does so at each save, on a page; build makes a page",
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="file",
        help="lesson files (.md); several are built into one course; "
        "check also takes a translation of the texts (.json)",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="build: the page to write (default: beside the first file)"
    )
    parser.add_argument(
        "--lang",
        metavar="CODE",
        help="check: name what a language of this package lacks, such as de: texts, chapters, tasks and messages",
    )
    parser.add_argument("--port", type=int, default=0, help="watch: the port on 127.0.0.1 (default: any that is free)")
    parser.add_argument("--no-browser", action="store_true", help="watch: print the address and open nothing")


def run(args: Any) -> int:
    """Do it; gives the exit code."""
    paths = [Path(name) for name in args.files]
    if args.lang:
        if args.action != "check" or paths:
            raise BadArgument(
                "--lang belongs to check without files: it checks all that this package has in the language"
            )
        return _check_language(args.lang)
    if not paths:
        raise BadArgument(f"{args.action} needs a file, such as my-lesson.md")
    if args.output and args.action != "build":
        raise BadArgument(f"--output belongs to build, not to {args.action}")
    if args.action == "new":
        return _new(paths)
    for path in paths:
        if not path.is_file():
            what = "is a folder, not a lesson file" if path.is_dir() else "is not there"
            raise OSError(f"{path} {what}; `micrograd lesson new my-lesson.md` starts a lesson")
    if args.action == "watch":
        return _watch(paths, args)
    return _check(paths) if args.action == "check" else _build(paths, args.output)


def _new(paths: list[Path]) -> int:
    from micrograd.learn.course.page import CHAPTERS

    template = (CHAPTERS.parent / "template.md").read_text(encoding="utf-8")
    for path in paths:
        if path.exists():
            raise BadArgument(f"{path} already exists and was not changed")
        path.write_text(template, encoding="utf-8")
        print(f"wrote {path}\nnext: micrograd lesson watch {path}; micrograd lesson build {path}")
    return 0


def _check(paths: list[Path]) -> int:
    from micrograd.learn.course import LessonError
    from micrograd.learn.course.check import check
    from micrograd.learn.course.lessons import Problem
    from micrograd.learn.course.translation import is_translation, load

    wrong = 0
    for path in paths:
        if path.suffix == ".json":
            wrong += _check_translation(path)
            continue
        try:
            problems: list[Problem] = []
            problems += check(load(path, problems))
        except LessonError as error:
            problems = error.problems
        for problem in problems:
            print(f"{path}:{problem.line}: {problem.text}")
        wrong += len(problems)
        if not problems:
            print(f"{path}: every number is right" + (", and every text is there" if is_translation(path) else ""))
    return int(wrong > 0)


def _check_language(language: str) -> int:
    """Name what this package lacks in a language, and the file for each."""
    from micrograd.learn import texts
    from micrograd.learn.course.page import CHAPTERS
    from micrograd.learn.workshop import catalog, messages

    if language not in texts.languages():
        raise BadArgument(f"there are no texts in {language!r}; there are texts in: {', '.join(texts.languages())}")
    found = _check_translation(texts.HERE / f"{language}.json")
    there = [CHAPTERS / language / path.name for path in sorted((CHAPTERS / "en").glob("*.md"))]
    gone = [path for path in there if not path.exists()]
    for path in gone:
        print(f"{path}: the chapter is missing")
    found += len(gone) + _check([path for path in there if path.exists()])
    for path, problems in (
        (catalog.TEXTS / f"{language}.md", catalog.missing(language)),
        (messages.EXERCISES / f"{language}.json", messages.missing(language)),
    ):
        for problem in problems:
            print(f"{path}: {problem}")
        if not problems:
            print(f"{path}: every text is there")
        found += len(problems)
    return int(found > 0)


def _check_translation(path: Path) -> int:
    """Name what a translation of the texts lacks; gives the number of problems."""
    import json

    from micrograd.learn import texts

    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise OSError(f"{path} is not a JSON file: {error}") from None
    problems = texts.compare(found)
    for problem in problems:
        print(f"{path}: {problem}")
    if not problems:
        print(f"{path}: every text is there")
    return len(problems)


def _watch(paths: list[Path], args: Any) -> int:
    from micrograd.learn.course.preview import Preview, serve

    preview = Preview(paths)
    try:
        server = serve(preview, args.port)
    except (OSError, OverflowError) as error:
        raise OSError(f"port {args.port} cannot be used ({error}); leave --port out, and a free one is taken") from None
    print(f"the lesson: {server.url}  (the page follows each save; Ctrl-C ends it)", flush=True)
    if not args.no_browser:
        import webbrowser

        webbrowser.open(server.url)
    try:
        preview.follow(lambda text: print(text, flush=True))
    except KeyboardInterrupt:
        print()
    finally:
        server.shutdown()
        server.server_close()
    return 0


def _build(paths: list[Path], output: str | None) -> int:
    import sys

    from micrograd.learn.course import LessonError
    from micrograd.learn.course.page import html
    from micrograd.learn.course.translation import load

    try:
        lessons = [load(path) for path in paths]
        name = lessons[0].key if len(lessons) == 1 else paths[0].resolve().parent.name
        text = html(lessons, name, lessons[0].title)
    except LessonError as error:
        print(error, file=sys.stderr)
        return 1
    target = Path(output) if output else paths[0].with_suffix(".html")
    target.write_text(text, encoding="utf-8")
    print(f"wrote {target} ({len(text.encode()) // 1000} kB); micrograd lesson check computes its numbers")
    return 0
