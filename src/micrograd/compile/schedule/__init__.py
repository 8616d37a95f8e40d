"""How a tape is laid out for machine code, whatever the backend: split, outline, pack, tile."""
