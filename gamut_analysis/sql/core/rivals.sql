-- Grain: one row per delivered verdict whose key was delivered more than once, with what became of it.
-- A failed attempt gives way to a verdict; equal verdicts collapse; of different ones the last instant wins, and
-- without instants to go by none does (`conflict`).
with repeated as (
    select key from attempts where key is not null group by key having count(*) > 1
),

weighed as (
    select
        attempts.* exclude (fault, variant, fault_value, fault_question, given_verdict, given_time),
        count(attempts.verdict) over by_key as n_graded,
        count(distinct attempts.verdict) over by_key as n_verdicts,
        count(*) filter (where attempts.verdict is not null and attempts.judged_at is null) over by_key as n_timeless,
        max(attempts.judged_at) filter (where attempts.verdict is not null) over by_key as last_at
    from attempts
    inner join repeated on attempts.key = repeated.key
    window by_key as (partition by attempts.key)
),

timed as (
    select
        *,
        count(distinct verdict) filter (where judged_at = last_at) over (partition by key) as n_last
    from weighed
),

judged as (
    select
        *,
        n_verdicts > 1 and (n_timeless > 0 or n_last > 1) as is_conflict,
        row_number() over (
            partition by key
            order by verdict is null, judged_at desc nulls last, rationale nulls last, ungraded_reason, source_id, row
        ) as place
    from timed
),

final as (
    select
        judged.* exclude (n_graded, n_verdicts, n_timeless, last_at, n_last),
        case
            when judged.verdict is null and (judged.n_graded > 0 or judged.place > 1) then 'failed_attempt'
            when judged.is_conflict then 'conflict'
            when judged.place = 1 then 'kept'
            when
                judged.verdict = winner.verdict
                and judged.judged_at is not distinct from winner.judged_at
                and judged.rationale is not distinct from winner.rationale
                then 'repeat'
            else 'superseded'
        end as kind
    from judged
    inner join judged as winner on judged.key = winner.key and winner.place = 1
)

select * from final order by key, place
