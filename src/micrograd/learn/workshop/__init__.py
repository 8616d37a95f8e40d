"""Build your own micrograd: exercises in plain files, checked by properties, with messages that name the idea."""
