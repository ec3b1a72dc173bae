"""Ports on which something other than a web server listens.

An HTTP request can be made to read as commands of another protocol, so these are never dialled.
"""

_FETCH_BAD_PORTS = (  # the bad ports of the WHATWG Fetch standard
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
)  # fmt: skip

_DATA_AND_CONTROL_PORTS = (  # no publisher serves feeds there, and an open one is a prize
    445,  # SMB
    1433, 1434, 1521, 3306, 5432,  # SQL Server, Oracle, MySQL, PostgreSQL
    2181, 2379, 2380,  # ZooKeeper, etcd
    2375, 2376, 10250, 10255,  # Docker, kubelet
    3389, 5900, 5985, 5986,  # remote desktops, WinRM
    5672, 9092,  # AMQP, Kafka
    5984, 6379, 6380, 9042, 9200, 9300, 11211, 27017, 27018, 27019,  # CouchDB, Redis, Cassandra,
    # Elasticsearch, memcached, MongoDB
)  # fmt: skip

BAD_PORTS = frozenset(_FETCH_BAD_PORTS + _DATA_AND_CONTROL_PORTS)
