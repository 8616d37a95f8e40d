"""The elementary functions by one definition each: formula (a small language) → circular, functions; tables."""
