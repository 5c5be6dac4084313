-- Grain: one row per key: the verdict that stands, or why none does.
with final as (
    select
        key, model_no, judge_no, check_no, replicate, verdict, ungraded_reason, rationale, judged_at, extra, source_id, row
    from attempts
    where key is not null and key not in (select key from rivals)
    union all
    select
        key, model_no, judge_no, check_no, replicate,
        case when not is_conflict then verdict end as verdict,
        case when is_conflict then 'conflict' else ungraded_reason end as ungraded_reason,
        rationale, judged_at, extra, source_id, row
    from rivals
    where place = 1
)

select * from final
