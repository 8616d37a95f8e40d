"""The compiler: pipeline (passes) → backend (text, code) → variants (traced paths) → jit | vmap."""
