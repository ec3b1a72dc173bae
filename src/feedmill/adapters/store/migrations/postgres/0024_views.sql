-- Views for people and programs that read the database: times as timestamps, URLs of feeds, lists unfolded.
-- Columns that end in _no, _id (of numbers) and _us are keys to page by. Every sighting of an entry's change names its bytes.
ALTER TABLE entry_revisions ADD COLUMN slice_offset bigint;
ALTER TABLE entry_revisions ADD COLUMN slice_length bigint;

-- Feeds with their schedule and the result of the last poll.
CREATE VIEW feeds_view AS SELECT
    f.feed_no,
    f.id AS feed_id,
    f.url,
    f.title,
    f.site_url,
    f.type,
    coalesce(f.tags, '[]')::jsonb AS tags,
    f.paused = 1 AS paused,
    f.health,
    timestamptz 'epoch' + f.created_at * interval '1 microsecond' AS created_at,
    f.interval_sec,
    timestamptz 'epoch' + s.next_run_at * interval '1 microsecond' AS next_poll_at,
    f.reason,
    f.etag,
    f.last_modified,
    timestamptz 'epoch' + f.last_decision_at * interval '1 microsecond' AS last_decision_at,
    timestamptz 'epoch' + f.last_fetch_at * interval '1 microsecond' AS last_fetch_at,
    timestamptz 'epoch' + f.last_success_at * interval '1 microsecond' AS last_success_at,
    f.last_result,
    f.last_status,
    f.last_detail,
    f.consecutive_failures,
    f.ewma_interarrival_sec,
    f.new_entries_last_fetch,
    f.self_url,
    coalesce(f.hubs, '[]')::jsonb AS hubs,
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
    coalesce(e.authors, '[]')::jsonb AS authors,
    coalesce(e.categories, '[]')::jsonb AS categories,
    coalesce(e.enclosures, '[]')::jsonb AS enclosures,
    timestamptz 'epoch' + e.published * interval '1 microsecond' AS published,
    timestamptz 'epoch' + e.updated * interval '1 microsecond' AS updated,
    timestamptz 'epoch' + e.published_effective * interval '1 microsecond' AS published_effective,
    e.published_source,
    timestamptz 'epoch' + e.first_seen * interval '1 microsecond' AS first_seen,
    timestamptz 'epoch' + (CASE WHEN e.in_document = 1 AND f.confirmed_at > e.last_seen THEN f.confirmed_at ELSE e.last_seen END) * interval '1 microsecond' AS last_seen,
    CASE WHEN e.in_document = 1 THEN e.seen_count + f.confirmations - e.confirmation ELSE e.seen_count END AS seen_count,
    e.language,
    e.image,
    e.comments_url,
    e.revisions,
    timestamptz 'epoch' + e.removed_at * interval '1 microsecond' AS removed_at,
    e.backfill = 1 AS backfill,
    e.content_hash,
    e.dedupe_key,
    e.match_confidence,
    e.article_hash,
    coalesce(r.article_hash, e.article_hash, e.entry_uid) AS article_id,
    r.entry_uid AS duplicate_of,
    'c' || e.cluster_no AS cluster_id,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('fetch_id', fetch_id, 'offset', slice_offset, 'length', slice_length) ORDER BY number DESC), '[]') FROM (
      SELECT 2147483647 AS number, e.fetch_id, e.slice_offset, e.slice_length WHERE e.fetch_id IS NOT NULL UNION ALL
      (SELECT v.number, v.fetch_id, v.slice_offset, v.slice_length FROM entry_revisions v
        WHERE e.revisions > 0 AND v.entry_id = e.entry_id AND v.fetch_id IS NOT NULL ORDER BY v.number DESC LIMIT 19)) refs) AS raw_refs,
    e.feed_no,
    e.first_seen AS first_seen_us
  FROM entries e JOIN feeds f ON f.feed_no = e.feed_no LEFT JOIN entries r ON r.entry_id = e.same_as;

-- One row per category, author and enclosure.
CREATE VIEW entry_categories_view AS SELECT e.entry_uid, e.feed_id, e.feed_url, j.n - 1 AS position,
    j.value #>> '{}' AS category
  FROM entries_view e, jsonb_array_elements(e.categories) WITH ORDINALITY j (value, n);
CREATE VIEW entry_authors_view AS SELECT e.entry_uid, e.feed_id, e.feed_url, j.n - 1 AS position,
    j.value ->> 'name' AS name, j.value ->> 'email' AS email, j.value ->> 'uri' AS uri
  FROM entries_view e, jsonb_array_elements(e.authors) WITH ORDINALITY j (value, n);
CREATE VIEW entry_enclosures_view AS SELECT e.entry_uid, e.feed_id, e.feed_url, j.n - 1 AS position,
    j.value ->> 'url' AS url, j.value ->> 'type' AS type, (j.value ->> 'length')::bigint AS length, j.value ->> 'title' AS title, (j.value ->> 'duration')::bigint AS duration
  FROM entries_view e, jsonb_array_elements(e.enclosures) WITH ORDINALITY j (value, n);

-- Articles with the entry that brought each.
CREATE VIEW articles_view AS SELECT
    a.entry_id,
    a.article_hash,
    a.link,
    timestamptz 'epoch' + a.first_seen * interval '1 microsecond' AS first_seen,
    e.entry_uid,
    f.id AS feed_id,
    f.url AS feed_url,
    e.title,
    timestamptz 'epoch' + e.published_effective * interval '1 microsecond' AS published_effective,
    e.feed_no,
    a.first_seen AS first_seen_us
  FROM articles a LEFT JOIN entries e ON e.entry_id = a.entry_id LEFT JOIN feeds f ON f.feed_no = e.feed_no;

-- A block begins with the URL; a delta holds the values that differ from the block.
CREATE VIEW fetches_view AS SELECT
    x.fetch_id,
    f.id AS feed_id,
    f.url AS feed_url,
    timestamptz 'epoch' + x.scheduled_at * interval '1 microsecond' AS scheduled_at,
    timestamptz 'epoch' + x.fetched_at * interval '1 microsecond' AS fetched_at,
    coalesce((SELECT d ->> 1 FROM jsonb_array_elements(x.request_delta::jsonb) d WHERE d -> 0 = '0'),
      q.block::jsonb #>> '{0,1}') AS url,
    coalesce((SELECT d ->> 1 FROM jsonb_array_elements(x.response_delta::jsonb) d WHERE d -> 0 = '0'),
      r.block::jsonb #>> '{0,1}') AS final_url,
    x.outcome,
    x.http_status,
    coalesce(x.detail, '') AS detail,
    (SELECT coalesce(jsonb_agg(jsonb_build_array(b.v ->> 0, coalesce(
      (SELECT d ->> 1 FROM jsonb_array_elements(x.request_delta::jsonb) d WHERE (d ->> 0)::bigint = b.n - 1), b.v ->> 1)) ORDER BY b.n), '[]')
      FROM jsonb_array_elements(q.block::jsonb) WITH ORDINALITY b (v, n) WHERE b.n > 1) AS request_headers,
    (SELECT coalesce(jsonb_agg(jsonb_build_array(b.v ->> 0, coalesce(
      (SELECT d ->> 1 FROM jsonb_array_elements(x.response_delta::jsonb) d WHERE (d ->> 0)::bigint = b.n - 1), b.v ->> 1)) ORDER BY b.n), '[]')
      FROM jsonb_array_elements(r.block::jsonb) WITH ORDINALITY b (v, n) WHERE b.n > 1) AS response_headers,
    x.body_sha256,
    x.content_type,
    x.content_length,
    x.wire_length,
    x.elapsed_ms,
    x.entries_seen,
    x.entries_new,
    x.entries_updated,
    coalesce(x.repairs, '[]')::jsonb AS repairs,
    x.truncated = 1 AS truncated,
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
    timestamptz 'epoch' + x.scheduled_at * interval '1 microsecond' AS scheduled_at,
    timestamptz 'epoch' + (x.decision::jsonb ->> 0)::bigint * interval '1 microsecond' AS decided_at,
    x.decision::jsonb ->> 7 AS reason,
    x.decision::jsonb #>> '{2,0}' AS outcome,
    (x.decision::jsonb #>> '{2,1}')::bigint AS http_status,
    (x.decision::jsonb #>> '{2,2}')::bigint AS new_entries,
    (x.decision::jsonb #>> '{2,3}')::double precision AS retry_after_sec,
    x.decision::jsonb #>> '{2,4}' AS failure,
    (x.decision::jsonb #>> '{1,0}')::double precision AS interval_before_sec,
    (x.decision::jsonb #>> '{4,0}')::double precision AS interval_sec,
    (x.decision::jsonb ->> 5)::double precision AS delay_sec,
    timestamptz 'epoch' + (x.decision::jsonb ->> 6)::bigint * interval '1 microsecond' AS next_poll_at,
    x.decision::jsonb -> 8 AS steps,
    x.decision::jsonb -> 3 AS hints,
    x.feed_no,
    x.scheduled_at AS scheduled_us
  FROM fetches x JOIN feeds f ON f.feed_no = x.feed_no WHERE x.decision IS NOT NULL;
