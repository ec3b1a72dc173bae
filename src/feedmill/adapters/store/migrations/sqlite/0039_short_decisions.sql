-- A decision is kept as a list with short forms (tables/subscriptions/decision_codec.py): what its fetch says already, what the rules left
-- as it was. Here they are written out as before; steps are [rule, of, before, after].
DROP VIEW decisions_view;
CREATE VIEW decisions_view AS SELECT
    d.fetch_id,
    f.id AS feed_id,
    f.url AS feed_url,
    strftime('%Y-%m-%dT%H:%M:%S', (d.scheduled_at - (d.scheduled_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (d.scheduled_at % 1000000 + 1000000) % 1000000) AS scheduled_at,
    strftime('%Y-%m-%dT%H:%M:%S', (d.decided_at - (d.decided_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (d.decided_at % 1000000 + 1000000) % 1000000) AS decided_at,
    d.reason,
    coalesce(json_extract(d.outcome, '$[0]'), 'unchanged') AS outcome,
    iif(json_type(d.outcome) = 'array', json_extract(d.outcome, '$[1]'), 304) AS http_status,
    coalesce(json_extract(d.outcome, '$[2]'), 0) AS new_entries,
    json_extract(d.outcome, '$[3]') AS retry_after_sec,
    coalesce(json_extract(d.outcome, '$[4]'), '') AS failure,
    d.interval_before_sec,
    d.interval_sec,
    d.delay_sec,
    strftime('%Y-%m-%dT%H:%M:%S', (d.next_poll_at - (d.next_poll_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (d.next_poll_at % 1000000 + 1000000) % 1000000) AS next_poll_at,
    (SELECT json_group_array(json(CASE
        WHEN s.type = 'text' THEN json_array(coalesce(nullif(s.value, ''), d.reason), 'interval', d.interval_sec, d.interval_sec)
        WHEN json_array_length(s.value) = 1 THEN json_array(json_extract(s.value, '$[0]'), 'delay', d.interval_sec, d.delay_sec)
        ELSE s.value END)) FROM json_each(d.steps) s) AS steps,
    d.hints,
    d.feed_no,
    d.scheduled_at AS scheduled_us
  FROM feeds f JOIN (
    SELECT x.fetch_id, x.feed_no, x.scheduled_at, x.decided_at,
        json_extract(x.decision, '$[7]') AS reason,
        json_extract(x.decision, '$[2]') AS outcome,
        json_extract(x.decision, '$[1][0]') AS interval_before_sec,
        coalesce(json_extract(x.decision, '$[4][0]'), json_extract(x.decision, '$[1][0]')) AS interval_sec,
        json_extract(x.decision, '$[5]') AS delay_sec,
        coalesce(nullif(json_extract(x.decision, '$[6]'), 0),
          x.decided_at + CAST(round(json_extract(x.decision, '$[5]') * 1000000) AS INTEGER)) AS next_poll_at,
        json_extract(x.decision, '$[8]') AS steps,
        json_extract(x.decision, '$[3]') AS hints
      FROM (SELECT fetch_id, feed_no, scheduled_at, decision,
        coalesce(nullif(json_extract(decision, '$[0]'), 0), fetched_at) AS decided_at FROM fetches WHERE decision IS NOT NULL) x
  ) d ON d.feed_no = f.feed_no;
