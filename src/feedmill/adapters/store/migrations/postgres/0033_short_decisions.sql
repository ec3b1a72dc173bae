-- A decision is kept as a list with short forms (tables/subscriptions/decision_codec.py): what its fetch says already, what the rules left
-- as it was. Here they are written out as before; steps are [rule, of, before, after].
DROP VIEW decisions_view;
CREATE VIEW decisions_view AS SELECT
    d.fetch_id,
    f.id AS feed_id,
    f.url AS feed_url,
    timestamptz 'epoch' + d.scheduled_at * interval '1 microsecond' AS scheduled_at,
    timestamptz 'epoch' + d.decided_at * interval '1 microsecond' AS decided_at,
    d.of ->> 7 AS reason,
    coalesce(d.of #>> '{2,0}', 'unchanged') AS outcome,
    CASE jsonb_typeof(d.of -> 2) WHEN 'array' THEN (d.of #>> '{2,1}')::bigint ELSE 304 END AS http_status,
    coalesce((d.of #>> '{2,2}')::bigint, 0) AS new_entries,
    (d.of #>> '{2,3}')::double precision AS retry_after_sec,
    coalesce(d.of #>> '{2,4}', '') AS failure,
    (d.of #>> '{1,0}')::double precision AS interval_before_sec,
    (coalesce(d.of #> '{4,0}', d.of #> '{1,0}'))::double precision AS interval_sec,
    (d.of ->> 5)::double precision AS delay_sec,
    timestamptz 'epoch' + coalesce(nullif((d.of ->> 6)::bigint, 0), d.decided_at + round((d.of ->> 5)::double precision * 1000000)::bigint) * interval '1 microsecond' AS next_poll_at,
    (SELECT coalesce(jsonb_agg(CASE
        WHEN jsonb_typeof(s.step) = 'string' THEN jsonb_build_array(coalesce(nullif(s.step #>> '{}', ''), d.of ->> 7), 'interval',
          coalesce(d.of #> '{4,0}', d.of #> '{1,0}'), coalesce(d.of #> '{4,0}', d.of #> '{1,0}'))
        WHEN jsonb_array_length(s.step) = 1 THEN jsonb_build_array(s.step -> 0, 'delay', coalesce(d.of #> '{4,0}', d.of #> '{1,0}'), d.of -> 5)
        ELSE s.step END ORDER BY s.at), '[]') FROM jsonb_array_elements(d.of -> 8) WITH ORDINALITY AS s (step, at)) AS steps,
    d.of -> 3 AS hints,
    d.feed_no,
    d.scheduled_at AS scheduled_us
  FROM feeds f JOIN (
    SELECT x.fetch_id, x.feed_no, x.scheduled_at, x.of, coalesce(nullif((x.of ->> 0)::bigint, 0), x.fetched_at) AS decided_at
      FROM (SELECT fetch_id, feed_no, scheduled_at, fetched_at, decision::jsonb AS of FROM fetches WHERE decision IS NOT NULL) x
  ) d ON d.feed_no = f.feed_no;
