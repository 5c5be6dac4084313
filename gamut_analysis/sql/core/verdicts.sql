-- Grain: one row per model, judge, variant, question, check and replicate: a verdict, or null and the reason.
with standing as (
    select
        attempts.model, attempts.judge, attempts.variant, attempts.question_id, attempts.check_id, attempts.replicate,
        attempts.verdict, attempts.ungraded_reason, attempts.rationale, attempts.judged_at, attempts.extra,
        attempts.source_id, attempts.row
    from attempts
    anti join rivals
        on
            attempts.model = rivals.model
            and attempts.judge = rivals.judge
            and attempts.variant = rivals.variant
            and attempts.question_id = rivals.question_id
            and attempts.check_id = rivals.check_id
            and attempts.replicate = rivals.replicate
    where attempts.fault is null
    union all
    select
        model, judge, variant, question_id, check_id, replicate,
        case when not is_conflict then verdict end as verdict,
        case when is_conflict then 'conflict' else ungraded_reason end as ungraded_reason,
        case when not is_conflict then rationale end as rationale,
        judged_at, extra, source_id, row
    from rivals
    where place = 1
)

select * from standing order by model, judge, variant, question_id, check_id, replicate
