"""A publisher on loopback: the demonstration's village of feeds and the tests' scripted server."""
