-- The trace that was exported for a fetch; not indexed: it is read from the fetch to the trace.
ALTER TABLE fetches ADD COLUMN trace_id text COLLATE "C";
