"""The tests of feedmill. A package of its own: some distributions install a package `tests` as well."""
