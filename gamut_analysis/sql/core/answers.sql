-- Grain: one row per model, variant and question: the last answer that could be had, and what became of it.
with final as (
    select distinct on (model, variant, question_id)
        model, variant, question_id, status, answer, error, answered_at, extra
    from stg_answers
    where fault is null
    order by
        model, variant, question_id,
        status = 'unrecorded', status = 'error', answered_at desc nulls last, source_id, row
)

select * from final order by model, variant, question_id
