-- What a feed's pace was decided from changes with its entries, not with every poll: it is kept once, like headers.
ALTER TABLE fetches ADD COLUMN arrivals_block INTEGER;
ALTER TABLE feeds ADD COLUMN arrivals_block INTEGER;
