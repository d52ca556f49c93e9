// Carries the precompiled header of the tests. A program, as they are, so that it is compiled with the same options.
int main() {}
