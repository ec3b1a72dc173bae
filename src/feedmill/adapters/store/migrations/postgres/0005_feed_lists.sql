-- Lists of feeds for people. None of these columns changes with an ordinary poll.
CREATE INDEX feeds_unwell ON feeds (health) WHERE health <> 'active';
CREATE INDEX feeds_paused ON feeds (paused) WHERE paused = 1;
CREATE INDEX feeds_failing ON feeds (consecutive_failures, feed_no) WHERE consecutive_failures > 0;
