// Carries the precompiled header of the tests; has no code.
