-- Views for people and programs that read the database: times as ISO 8601 in UTC, URLs of feeds, lists unfolded.
-- Columns that end in _no, _id (of numbers) and _us are keys to page by. Every sighting of an entry's change names its bytes.
ALTER TABLE entry_revisions ADD COLUMN slice_offset INTEGER;
ALTER TABLE entry_revisions ADD COLUMN slice_length INTEGER;

-- Feeds with their schedule and the result of the last poll.
CREATE VIEW feeds_view AS SELECT
    f.feed_no,
    f.id AS feed_id,
    f.url,
    f.title,
    f.site_url,
    f.type,
    coalesce(f.tags, '[]') AS tags,
    f.paused,
    f.health,
    strftime('%Y-%m-%dT%H:%M:%S', (f.created_at - (f.created_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (f.created_at % 1000000 + 1000000) % 1000000) AS created_at,
    f.interval_sec,
    strftime('%Y-%m-%dT%H:%M:%S', (s.next_run_at - (s.next_run_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (s.next_run_at % 1000000 + 1000000) % 1000000) AS next_poll_at,
    f.reason,
    f.etag,
    f.last_modified,
    strftime('%Y-%m-%dT%H:%M:%S', (f.last_decision_at - (f.last_decision_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (f.last_decision_at % 1000000 + 1000000) % 1000000) AS last_decision_at,
    strftime('%Y-%m-%dT%H:%M:%S', (f.last_fetch_at - (f.last_fetch_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (f.last_fetch_at % 1000000 + 1000000) % 1000000) AS last_fetch_at,
    strftime('%Y-%m-%dT%H:%M:%S', (f.last_success_at - (f.last_success_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (f.last_success_at % 1000000 + 1000000) % 1000000) AS last_success_at,
    f.last_result,
    f.last_status,
    f.last_detail,
    f.consecutive_failures,
    f.ewma_interarrival_sec,
    f.new_entries_last_fetch,
    f.self_url,
    coalesce(f.hubs, '[]') AS hubs,
    f.created_at AS created_us
  FROM feeds f JOIN feed_sched s ON s.feed_no = f.feed_no;

-- last_seen and seen_count are computed: an entry of the current document was seen whenever that was confirmed.
CREATE VIEW entries_view AS SELECT
    e.entry_id,
    e.entry_uid,
    f.id AS feed_id,
    f.url AS feed_url,
    f.title AS feed_title,
    e.guid,
    e.link,
    e.canonical_link,
    e.title,
    e.summary,
    e.content,
    coalesce(e.authors, '[]') AS authors,
    coalesce(e.categories, '[]') AS categories,
    coalesce(e.enclosures, '[]') AS enclosures,
    strftime('%Y-%m-%dT%H:%M:%S', (e.published - (e.published % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (e.published % 1000000 + 1000000) % 1000000) AS published,
    strftime('%Y-%m-%dT%H:%M:%S', (e.updated - (e.updated % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (e.updated % 1000000 + 1000000) % 1000000) AS updated,
    strftime('%Y-%m-%dT%H:%M:%S', (e.published_effective - (e.published_effective % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (e.published_effective % 1000000 + 1000000) % 1000000) AS published_effective,
    e.published_source,
    strftime('%Y-%m-%dT%H:%M:%S', (e.first_seen - (e.first_seen % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (e.first_seen % 1000000 + 1000000) % 1000000) AS first_seen,
    strftime('%Y-%m-%dT%H:%M:%S', ((CASE WHEN e.in_document = 1 AND f.confirmed_at > e.last_seen THEN f.confirmed_at ELSE e.last_seen END) - ((CASE WHEN e.in_document = 1 AND f.confirmed_at > e.last_seen THEN f.confirmed_at ELSE e.last_seen END) % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', ((CASE WHEN e.in_document = 1 AND f.confirmed_at > e.last_seen THEN f.confirmed_at ELSE e.last_seen END) % 1000000 + 1000000) % 1000000) AS last_seen,
    CASE WHEN e.in_document = 1 THEN e.seen_count + f.confirmations - e.confirmation ELSE e.seen_count END AS seen_count,
    e.language,
    e.image,
    e.comments_url,
    e.revisions,
    strftime('%Y-%m-%dT%H:%M:%S', (e.removed_at - (e.removed_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (e.removed_at % 1000000 + 1000000) % 1000000) AS removed_at,
    e.backfill,
    e.content_hash,
    e.dedupe_key,
    e.match_confidence,
    e.article_hash,
    coalesce(r.article_hash, e.article_hash, e.entry_uid) AS article_id,
    r.entry_uid AS duplicate_of,
    'c' || e.cluster_no AS cluster_id,
    (SELECT json_group_array(json_object('fetch_id', fetch_id, 'offset', slice_offset, 'length', slice_length)) FROM (
      SELECT e.fetch_id, e.slice_offset, e.slice_length WHERE e.fetch_id IS NOT NULL UNION ALL
      SELECT * FROM (SELECT v.fetch_id, v.slice_offset, v.slice_length FROM entry_revisions v
        WHERE e.revisions > 0 AND v.entry_id = e.entry_id AND v.fetch_id IS NOT NULL ORDER BY v.number DESC LIMIT 19))) AS raw_refs,
    e.feed_no,
    e.first_seen AS first_seen_us
  FROM entries e JOIN feeds f ON f.feed_no = e.feed_no LEFT JOIN entries r ON r.entry_id = e.same_as;

-- One row per category, author and enclosure.
CREATE VIEW entry_categories_view AS SELECT e.entry_uid, e.feed_id, e.feed_url, j.key AS position,
    j.value AS category
  FROM entries_view e, json_each(e.categories) j;
CREATE VIEW entry_authors_view AS SELECT e.entry_uid, e.feed_id, e.feed_url, j.key AS position,
    json_extract(j.value, '$.name') AS name, json_extract(j.value, '$.email') AS email, json_extract(j.value, '$.uri') AS uri
  FROM entries_view e, json_each(e.authors) j;
CREATE VIEW entry_enclosures_view AS SELECT e.entry_uid, e.feed_id, e.feed_url, j.key AS position,
    json_extract(j.value, '$.url') AS url, json_extract(j.value, '$.type') AS type, json_extract(j.value, '$.length') AS length, json_extract(j.value, '$.title') AS title, json_extract(j.value, '$.duration') AS duration
  FROM entries_view e, json_each(e.enclosures) j;

-- Articles with the entry that brought each.
CREATE VIEW articles_view AS SELECT
    a.entry_id,
    a.article_hash,
    a.link,
    strftime('%Y-%m-%dT%H:%M:%S', (a.first_seen - (a.first_seen % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (a.first_seen % 1000000 + 1000000) % 1000000) AS first_seen,
    e.entry_uid,
    f.id AS feed_id,
    f.url AS feed_url,
    e.title,
    strftime('%Y-%m-%dT%H:%M:%S', (e.published_effective - (e.published_effective % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (e.published_effective % 1000000 + 1000000) % 1000000) AS published_effective,
    e.feed_no,
    a.first_seen AS first_seen_us
  FROM articles a LEFT JOIN entries e ON e.entry_id = a.entry_id LEFT JOIN feeds f ON f.feed_no = e.feed_no;

-- A block begins with the URL; a delta holds the values that differ from the block.
CREATE VIEW fetches_view AS SELECT
    x.fetch_id,
    f.id AS feed_id,
    f.url AS feed_url,
    strftime('%Y-%m-%dT%H:%M:%S', (x.scheduled_at - (x.scheduled_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (x.scheduled_at % 1000000 + 1000000) % 1000000) AS scheduled_at,
    strftime('%Y-%m-%dT%H:%M:%S', (x.fetched_at - (x.fetched_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (x.fetched_at % 1000000 + 1000000) % 1000000) AS fetched_at,
    coalesce((SELECT json_extract(d.value, '$[1]') FROM json_each(x.request_delta) d WHERE json_extract(d.value, '$[0]') = 0),
      json_extract(q.block, '$[0][1]')) AS url,
    coalesce((SELECT json_extract(d.value, '$[1]') FROM json_each(x.response_delta) d WHERE json_extract(d.value, '$[0]') = 0),
      json_extract(r.block, '$[0][1]')) AS final_url,
    x.outcome,
    x.http_status,
    coalesce(x.detail, '') AS detail,
    (SELECT json_group_array(json_array(json_extract(b.value, '$[0]'), coalesce(
      (SELECT json_extract(d.value, '$[1]') FROM json_each(x.request_delta) d WHERE json_extract(d.value, '$[0]') = b.key),
      json_extract(b.value, '$[1]')))) FROM json_each(q.block) b WHERE b.key > 0) AS request_headers,
    (SELECT json_group_array(json_array(json_extract(b.value, '$[0]'), coalesce(
      (SELECT json_extract(d.value, '$[1]') FROM json_each(x.response_delta) d WHERE json_extract(d.value, '$[0]') = b.key),
      json_extract(b.value, '$[1]')))) FROM json_each(r.block) b WHERE b.key > 0) AS response_headers,
    x.body_sha256,
    x.content_type,
    x.content_length,
    x.wire_length,
    x.elapsed_ms,
    x.entries_seen,
    x.entries_new,
    x.entries_updated,
    coalesce(x.repairs, '[]') AS repairs,
    x.truncated,
    x.trace_id,
    x.interval_sec,
    x.saved_bytes,
    x.retries,
    x.feed_no,
    x.scheduled_at AS scheduled_us
  FROM fetches x JOIN feeds f ON f.feed_no = x.feed_no
  JOIN header_blocks q ON q.block_id = x.request_block JOIN header_blocks r ON r.block_id = x.response_block;

-- A decision is kept as a list (tables/decision_codec.py); steps are [rule, of, before, after].
CREATE VIEW decisions_view AS SELECT
    x.fetch_id,
    f.id AS feed_id,
    f.url AS feed_url,
    strftime('%Y-%m-%dT%H:%M:%S', (x.scheduled_at - (x.scheduled_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (x.scheduled_at % 1000000 + 1000000) % 1000000) AS scheduled_at,
    strftime('%Y-%m-%dT%H:%M:%S', (json_extract(x.decision, '$[0]') - (json_extract(x.decision, '$[0]') % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (json_extract(x.decision, '$[0]') % 1000000 + 1000000) % 1000000) AS decided_at,
    json_extract(x.decision, '$[7]') AS reason,
    json_extract(x.decision, '$[2][0]') AS outcome,
    json_extract(x.decision, '$[2][1]') AS http_status,
    json_extract(x.decision, '$[2][2]') AS new_entries,
    json_extract(x.decision, '$[2][3]') AS retry_after_sec,
    json_extract(x.decision, '$[2][4]') AS failure,
    json_extract(x.decision, '$[1][0]') AS interval_before_sec,
    json_extract(x.decision, '$[4][0]') AS interval_sec,
    json_extract(x.decision, '$[5]') AS delay_sec,
    strftime('%Y-%m-%dT%H:%M:%S', (json_extract(x.decision, '$[6]') - (json_extract(x.decision, '$[6]') % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || printf('.%06dZ', (json_extract(x.decision, '$[6]') % 1000000 + 1000000) % 1000000) AS next_poll_at,
    json_extract(x.decision, '$[8]') AS steps,
    json_extract(x.decision, '$[3]') AS hints,
    x.feed_no,
    x.scheduled_at AS scheduled_us
  FROM fetches x JOIN feeds f ON f.feed_no = x.feed_no WHERE x.decision IS NOT NULL;
