"""The schedule: in which order and in which groups the instructions of a tape run, whatever language they are written in."""
