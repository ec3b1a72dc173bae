-- What a feed brought today and what waits because of its quotas, as JSON; NULL: nothing yet.
ALTER TABLE feeds ADD COLUMN quota TEXT;
