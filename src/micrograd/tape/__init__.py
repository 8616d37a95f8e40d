"""The tape: a traced function as a list of instructions, the passes over it, and its reference interpreter."""
