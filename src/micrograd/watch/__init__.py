"""What a compiled function reads from outside of itself, found by one walk, and the guards that tell when it has changed."""
