"""A publisher on loopback: the demonstration sites, and the scripted server of the tests."""
