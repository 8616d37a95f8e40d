"""The course: lessons as Markdown files, a checker that computes every number in them, and the page that shows them."""

from micrograd.learn.course.lessons import Block, Lesson, LessonError, LessonScreen, Problem, parse, read

__all__ = ["Block", "Lesson", "LessonError", "LessonScreen", "Problem", "parse", "read"]
