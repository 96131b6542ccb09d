/*
 * The second migration: a claim is one call of spool.claim, and costs the same with one worker and one change as with a
 * thousand workers and ten thousand changes. It is a function for two reasons: a claim is one round trip, and the function
 * has its own planner settings. Without them, Postgres sorts the whole queue for each claim until the tables have been
 * analyzed. Released, so it is never changed: a new claim gets a new name, because older workers call this one.
 */

/**
 * Another change that edits the same requirement is running. Each step is a lookup by a whole key: "offset 0" keeps
 * Postgres from starting with all running changes instead.
 */
const isBlocked = `(c.requirements <> '{}' and exists (
  select 1 from unnest(c.requirements) as r (name)
  cross join lateral (
    select h.change from spool.holding h where h.project = c.project and h.requirement = hashtextextended(r.name, 0) offset 0
  ) h
  cross join lateral (
    select o.state, o.lease_until, o.requirements from spool.change o where o.project = c.project and o.id = h.change offset 0
  ) o
  where h.change <> c.id and o.state = 'running' and o.lease_until >= now() and o.requirements && c.requirements
))`;

/** Which requirements running changes edit, by the hash of their names. Triggers write it, so older workers do as well. */
const holdings = `
  create table spool.holding (
    project      text not null,
    requirement  bigint not null,
    change       text not null,
    primary key (project, requirement, change)
  );

  create function spool.update_holding() returns trigger
  language plpgsql security definer set search_path = pg_catalog
  as $$ begin
    if tg_op <> 'INSERT' then
      delete from spool.holding h where h.project = old.project and h.change = old.id
        and h.requirement = any(array(select hashtextextended(r.name, 0) from unnest(old.requirements) as r (name)));
    end if;
    if tg_op <> 'DELETE' and new.state = 'running' then
      insert into spool.holding (project, requirement, change)
      select new.project, hashtextextended(r.name, 0), new.id from unnest(new.requirements) as r (name)
      on conflict do nothing;
    end if;
    return null;
  end $$;

  create trigger holding_inserted after insert on spool.change for each row
    when (new.state = 'running') execute function spool.update_holding();
  create trigger holding_deleted after delete on spool.change for each row
    when (old.state = 'running') execute function spool.update_holding();
  create trigger holding_updated after update of state, requirements on spool.change for each row
    when ((old.state = 'running' or new.state = 'running')
      and (old.state is distinct from new.state or old.requirements is distinct from new.requirements))
    execute function spool.update_holding();

  insert into spool.holding (project, requirement, change)
    select c.project, hashtextextended(r.name, 0), c.id
    from spool.change c cross join unnest(c.requirements) as r (name) where c.state = 'running'
    on conflict do nothing;
`;

/** For changes that are ready, by the labels that they need; for those that wait until a time; for what a budget has paid. */
const indexes = `
  create index change_ready on spool.change (project, labels, priority desc, queued_at) where state = 'queued';
  create index change_waiting on spool.change (available_at) where state = 'waiting';
  create index ledger_budget on spool.ledger (budget) where budget is not null;
  alter table spool.change set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02);
`;

/**
 * Returns the row of the change that is taken, or none. Changes that were taken before come first, then the most urgent,
 * then the oldest. A change that another worker is taking is passed over.
 */
const claim = `
  create function spool.claim(p_projects text[], p_labels text[], p_owner text, p_host text, p_lease_ms bigint)
  returns setof spool.change
  language plpgsql
  set search_path = pg_catalog
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_sort = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set jit = off
  as $$
  declare
    width integer;
    seen integer;
    candidate record;
    taken record;
  begin
    -- Those whose wait is over are queued again, each of them once. Otherwise every claim would sort all of them.
    update spool.change c set state = 'queued', detail = null, updated_at = now()
    from (
      select w.project, w.id from spool.change w where w.state = 'waiting' and w.available_at <= now()
      order by w.available_at limit 1000 for update skip locked
    ) due
    where c.project = due.project and c.id = due.id;

    -- More candidates only if other workers are taking all of these.
    foreach width in array array[10, 100, 1000] loop
      seen := 0;
      for candidate in
        with recursive label_set (project, labels) as (
          select p.project, (
            select c.labels from spool.change c where c.state = 'queued' and c.project = p.project
            order by c.labels limit 1
          ) from unnest(p_projects) as p (project)
          union all
          select s.project, (
            select c.labels from spool.change c where c.state = 'queued' and c.project = s.project and c.labels > s.labels
            order by c.labels limit 1
          ) from label_set s where s.labels is not null
        ),
        abandoned as materialized (
          select c.project, c.id, c.priority, c.queued_at, c.labels, c.requirements from spool.change c
          where c.state = 'running' and c.lease_until < now()
        )
        (
          select c.project, c.id from abandoned c
          where c.project = any(p_projects) and c.labels <@ p_labels and not ${isBlocked}
          order by c.priority desc, c.queued_at limit width
        )
        union all
        (
          select s.project, c.id from label_set s cross join lateral (
            select c.id, c.priority, c.queued_at from spool.change c
            where c.state = 'queued' and c.project = s.project and c.labels = s.labels and c.available_at <= now()
              and not ${isBlocked}
            order by c.priority desc, c.queued_at limit width
          ) c
          where s.labels is not null and s.labels <@ p_labels
          order by c.priority desc, c.queued_at limit width
        )
      loop
        seen := seen + 1;
        select c.state, c.requirements into taken from spool.change c
        where c.project = candidate.project and c.id = candidate.id and (
          (c.state = 'queued' and c.available_at <= now()) or (c.state = 'running' and c.lease_until < now())
        )
        for update skip locked;
        continue when not found;

        -- Two workers may look at the same time, so the second look is taken by one of them at a time.
        if taken.requirements <> '{}' then
          perform pg_advisory_xact_lock(hashtext('spool ' || candidate.project));
          perform 1 from spool.change c
          where c.project = candidate.project and c.id = candidate.id and ${isBlocked};
          continue when found;
        end if;

        -- What the previous owner has spent in an iteration that it never finished is spent all the same.
        if taken.state = 'running' then
          update spool.attempt a set ended_at = now(), outcome = 'lost', detail = 'the lease has ended'
          where a.project = candidate.project and a.change = candidate.id and a.ended_at is null;
          if found then
            with spent as (
              insert into spool.ledger (project, change, run, iteration, epoch, budget, cost_usd)
              select c.project, c.id, coalesce(c.run, ''), coalesce(c.iteration, 0), c.epoch, c.budget, c.spending_usd
              from spool.change c where c.project = candidate.project and c.id = candidate.id and c.spending_usd > 0
              on conflict do nothing returning project, change, budget, cost_usd
            ), booked as (
              update spool.budget b set spent_usd = b.spent_usd + s.cost_usd from spent s where b.id = s.budget
            )
            update spool.change c set cost_usd = c.cost_usd + s.cost_usd from spent s
            where c.project = s.project and c.id = s.change;
          end if;
        end if;

        return query
          update spool.change c set state = 'running', epoch = c.epoch + 1, owner = p_owner, host = p_host,
            claimed_at = now(), lease_until = now() + p_lease_ms * interval '1 millisecond', detail = null,
            spending_usd = 0, reserved_usd = 0, updated_at = now()
          where c.project = candidate.project and c.id = candidate.id
          returning c.*;
        insert into spool.attempt (project, change, epoch, owner, host)
          select c.project, c.id, c.epoch, p_owner, p_host from spool.change c
          where c.project = candidate.project and c.id = candidate.id;
        return;
      end loop;
      exit when seen < width;
    end loop;
  end $$;
`;

export const claimMigration = `${holdings}${indexes}${claim}`;
