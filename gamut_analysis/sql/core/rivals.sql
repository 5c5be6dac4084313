-- Grain: one row per delivered verdict whose key was delivered more than once, with what became of it.
-- A failed attempt gives way to a verdict; equal verdicts collapse; of different ones the last instant wins, and
-- without instants to go by none does (`conflict`).
with repeated as (
    select model, judge, variant, question_id, check_id, replicate, row_number() over () as key
    from attempts
    where fault is null
    group by model, judge, variant, question_id, check_id, replicate
    having count(*) > 1
),

weighed as (
    select
        attempts.*,
        repeated.key,
        count(attempts.verdict) over by_key as n_graded,
        count(distinct attempts.verdict) over by_key as n_verdicts,
        count(*) filter (where attempts.verdict is not null and attempts.judged_at is null) over by_key as n_timeless,
        max(attempts.judged_at) filter (where attempts.verdict is not null) over by_key as last_at
    from attempts
    inner join repeated
        on
            attempts.model = repeated.model
            and attempts.judge = repeated.judge
            and attempts.variant = repeated.variant
            and attempts.question_id = repeated.question_id
            and attempts.check_id = repeated.check_id
            and attempts.replicate = repeated.replicate
    where attempts.fault is null
    window by_key as (partition by repeated.key)
),

timed as (
    select
        *,
        count(distinct verdict) filter (where judged_at = last_at) over (partition by key) as n_last
    from weighed
),

ranked as (
    select
        *,
        n_verdicts > 1 and (n_timeless > 0 or n_last > 1) as is_conflict,
        row_number() over by_worth as place,
        first_value(verdict) over by_worth as first_verdict,
        first_value(coalesce(cast(judged_at as varchar), '')) over by_worth as first_time,
        first_value(coalesce(rationale, '')) over by_worth as first_rationale
    from timed
    window by_worth as (
        partition by key
        order by
            verdict is null, judged_at desc nulls last, rationale nulls last, ungraded_reason, extra, source_id, row
    )
),

final as (
    select
        model,
        judge,
        variant,
        question_id,
        check_id,
        replicate,
        verdict,
        ungraded_reason,
        rationale,
        judged_at,
        extra,
        source_id,
        row,
        is_conflict,
        place,
        case
            when verdict is null and (n_graded > 0 or place > 1) then 'failed_attempt'
            when is_conflict then 'conflict'
            when place = 1 then 'kept'
            when
                verdict = first_verdict
                and coalesce(cast(judged_at as varchar), '') = first_time
                and coalesce(rationale, '') = first_rationale
                then 'repeat'
            else 'superseded'
        end as kind
    from ranked
)

select * from final
