-- Grain: one row per delivered verdict that does not stand because its key was delivered more than once.
with final as (
    select
        models.model,
        judges.judge,
        checks.variant,
        checks.question_id,
        checks.check_id,
        rivals.replicate,
        rivals.kind,
        rivals.verdict,
        rivals.ungraded_reason,
        rivals.judged_at,
        sources.file,
        rivals.row,
        rivals.key,
        rivals.place
    from rivals
    inner join (select model, row_number() over (order by model) as model_no from models) as models
        on rivals.model_no = models.model_no
    inner join (select judge, row_number() over (order by judge) as judge_no from judges) as judges
        on rivals.judge_no = judges.judge_no
    inner join check_numbers as checks on rivals.check_no = checks.check_no
    left join delivered_sources as sources on rivals.source_id = sources.source_id
    where rivals.kind <> 'kept'
)

select * exclude (key, place) from final order by key, place
