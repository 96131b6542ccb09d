/*
 * Part of the second migration: the figures of the queue for metrics. They are counted once every few seconds for all
 * workers, because a thousand workers that are scraped would otherwise count the whole queue a thousand times.
 */

/** Returns the figures as they were at most this long ago. Released, so it is never changed. */
export const figuresMigration = `
  create table spool.figures (
    only_one  boolean primary key default true check (only_one),
    at        timestamptz not null,
    body      jsonb not null
  );

  create function spool.queue_figures() returns jsonb
  language plpgsql security definer set search_path = pg_catalog
  as $$
  declare
    last record;
  begin
    select f.at, f.body into last from spool.figures f;
    if last.at > now() - interval '5 seconds' then return last.body; end if;
    -- Another worker is counting.
    if not pg_try_advisory_xact_lock(5370012) and last.body is not null then return last.body; end if;
    insert into spool.figures as f (at, body)
    select now(), jsonb_build_object(
      'states', (select coalesce(jsonb_object_agg(s.state, s.changes), '{}') from (
        select c.state, count(*) as changes from spool.change c group by c.state
      ) s),
      'attempts', (select coalesce(jsonb_object_agg(a.outcome, a.attempts), '{}') from (
        select a.outcome, count(*) as attempts from spool.attempt a where a.outcome is not null group by a.outcome
      ) a),
      'refused', (select coalesce(sum(a.refused), 0) from spool.attempt a where a.refused > 0),
      'available', count(*) filter (where c.is_available),
      'oldestMs', coalesce(extract(epoch from now() - min(c.available_at) filter (where c.is_available)) * 1000, 0),
      'silent', count(*) filter (where c.state = 'running' and c.lease_until < now()),
      'costUsd', coalesce(sum(c.cost_usd), 0),
      'workers', (
        select jsonb_build_object('silent', count(*) filter (where w.is_silent),
          'draining', count(*) filter (where w.draining and not w.is_silent),
          'ready', count(*) filter (where not w.draining and not w.is_silent))
        from (
          select w.draining, w.seen_at < now() - w.lease_ms * interval '1 millisecond' as is_silent from spool.worker w
        ) w
      )
    )
    from (
      select c.*, c.state in ('queued', 'waiting') and c.available_at <= now() as is_available from spool.change c
    ) c
    on conflict (only_one) do update set at = excluded.at, body = excluded.body
    returning f.body into last.body;
    return last.body;
  end $$;
`;
