-- Grain: one row per delivered verdict that does not stand because its key was delivered more than once.
with final as (
    select
        rivals.model,
        rivals.judge,
        rivals.variant,
        rivals.question_id,
        rivals.check_id,
        rivals.replicate,
        rivals.kind,
        rivals.verdict,
        rivals.ungraded_reason,
        rivals.judged_at,
        sources.file,
        rivals.row,
        rivals.place
    from rivals
    inner join delivered_sources as sources on rivals.source_id = sources.source_id
    where rivals.kind <> 'kept'
)

select * exclude (place) from final order by model, judge, variant, question_id, check_id, replicate, place
