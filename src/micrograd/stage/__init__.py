"""Staging: a function with branches and loops becomes one tape, by interpreting its source with a state that can be forked."""
