-- Grain: one row per model, judge, variant, question, check and replicate: a verdict, or null and the reason.
with final as (
    select
        models.model,
        judges.judge,
        checks.variant,
        checks.question_id,
        checks.check_id,
        resolved.replicate,
        resolved.verdict,
        resolved.ungraded_reason,
        resolved.rationale,
        resolved.judged_at,
        resolved.extra,
        resolved.source_id,
        resolved.row,
        resolved.key
    from resolved
    inner join (select model, row_number() over (order by model) as model_no from models) as models
        on resolved.model_no = models.model_no
    inner join (select judge, row_number() over (order by judge) as judge_no from judges) as judges
        on resolved.judge_no = judges.judge_no
    inner join check_numbers as checks on resolved.check_no = checks.check_no
)

select * exclude (key) from final order by key
