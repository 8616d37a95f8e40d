"""The exercises and milestones in order, with their texts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from micrograd.learn import texts

TEXTS = Path(__file__).parent / "exercises"
QUOTES = '"""'


@cache
def words(language: str) -> dict[str, tuple[str, list[str]]]:
    """The tasks of a language, by exercise: what the file says, and the hints. English ones stand in the files themselves.

    A translation is `exercises/de.md`: a heading with the name of the exercise, the task, and the hints as a list.
    """
    path = TEXTS / f"{language}.md"
    found: dict[str, tuple[str, list[str]]] = {}
    for part in path.read_text(encoding="utf-8").split("\n# ")[1:] if path.exists() else ():
        name, _, rest = part.partition("\n")
        lines = rest.strip().split("\n")
        hints = [line[2:] for line in lines if line.startswith("- ")]
        found[name.strip()] = "\n".join(line for line in lines if not line.startswith("- ")).strip(), hints
    return found


def head(file: str) -> str:
    """The docstring of a file, as it stands there."""
    return QUOTES + file.split(QUOTES, 2)[1] + QUOTES


@dataclass(frozen=True)
class Exercise:
    """One step of the workshop. A milestone has no file of its own: it runs what the learner has built so far."""

    name: str
    milestone: bool = False

    @property
    def file(self) -> str:
        """The learner's file."""
        return f"{self.name}.py"

    @property
    def task(self) -> str:
        """The file as the learner first gets it, in the language in use."""
        return self._in_words("task", texts.current()["language"])

    @property
    def tasks(self) -> list[str]:
        """The file as a learner first gets it, in every language."""
        return [self._in_words("task", language) for language in texts.languages()]

    @property
    def solution(self) -> str:
        """A file that passes."""
        return self._in_words("solution", texts.current()["language"])

    @property
    def title(self) -> str:
        """What it is about, in a word or two."""
        return self._told()[0]

    @property
    def about(self) -> str:
        """The task in words; of a milestone, what it shows."""
        return self._told()[1]

    def _told(self) -> tuple[str, str]:
        own = words(texts.current()["language"]).get(self.name)
        if self.milestone:
            text = own[0] if own else self._text("about")
        else:
            text = self.task.split('"""')[1].split(":", 1)[1]
        title, _, about = text.strip().partition("\n")
        return title.strip().rstrip("."), about.strip()

    @property
    def hints(self) -> list[str]:
        """From a nudge to nearly the answer."""
        own = words(texts.current()["language"]).get(self.name)
        return [] if self.milestone else own[1] if own else self._text("hints").splitlines()

    def _in_words(self, kind: str, language: str) -> str:
        """A file with its task in the words of a language; the code is the same in all of them."""
        text, own = self._text(kind), words(language).get(self.name)
        return f'"""{own[0]}\n"""{text.split(QUOTES, 2)[2]}' if own else text

    def _text(self, kind: str) -> str:
        return (TEXTS / f"{self.name}.{kind}.txt").read_text(encoding="utf-8")


EXERCISES = [
    Exercise("e01_slope"),
    Exercise("e02_partials"),
    Exercise("e03_value"),
    Exercise("e04_rules"),
    Exercise("e05_order"),
    Exercise("e06_backward"),
    Exercise("e07_again"),
    Exercise("e08_numbers"),
    Exercise("e09_power"),
    Exercise("e10_exp_log"),
    Exercise("e11_tanh_relu"),
    Exercise("m1_draw", milestone=True),
    Exercise("e12_checker"),
    Exercise("e13_neuron"),
    Exercise("e14_mlp"),
    Exercise("e15_loss"),
    Exercise("e16_step"),
    Exercise("e17_adam"),
    Exercise("m2_moons", milestone=True),
    Exercise("e18_softmax"),
    Exercise("e19_cross_entropy"),
    Exercise("e20_attention"),
]
BY_NAME = {exercise.name: exercise for exercise in EXERCISES}


def missing(language: str) -> list[str]:
    """Name what the tasks of a language lack, and what they have too much; nothing for English."""
    told, found = [], words(language)
    for exercise in EXERCISES if language != "en" else ():
        own = found.get(exercise.name)
        if own is None or not own[0]:
            told.append(f"{exercise.name}: the task is missing")
            continue
        count = 0 if exercise.milestone else len(exercise._text("hints").splitlines())
        if len(own[1]) != count:
            told.append(f"{exercise.name}: has {len(own[1])} hints, in English {count}")
        if not exercise.milestone and ":" not in own[0].split("\n")[0]:
            told.append(f"{exercise.name}: the first line is not a number and a title, as in `Exercise 1: slope.`")
    return told + [f"{name}: is not an exercise" for name in found if name not in BY_NAME]
