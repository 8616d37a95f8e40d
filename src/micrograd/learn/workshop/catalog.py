"""The exercises and milestones in order, with their texts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TEXTS = Path(__file__).parent / "exercises"


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
        """The file as the learner first gets it."""
        return self._text("task")

    @property
    def solution(self) -> str:
        """A file that passes."""
        return self._text("solution")

    @property
    def title(self) -> str:
        """What it is about, in a word or two."""
        return self._told()[0]

    @property
    def about(self) -> str:
        """The task in words; of a milestone, what it shows."""
        return self._told()[1]

    def _told(self) -> tuple[str, str]:
        text = self._text("about") if self.milestone else self.task.split('"""')[1].split(":", 1)[1]
        title, _, about = text.strip().partition("\n")
        return title.strip().rstrip("."), about.strip()

    @property
    def hints(self) -> list[str]:
        """From a nudge to nearly the answer."""
        return [] if self.milestone else self._text("hints").splitlines()

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
