-- Grain: one row per variant and question, whether a file of questions, the checks or an answer tells of it.
with told as (
    select distinct on (variant, question_id) *
    from stg_questions
    where fault is null
    order by variant, question_id, source_id, row
),

seen as (
    select variant, question_id from told
    union
    select variant, question_id from checks
    union
    select variant, question_id from stg_answers where fault is null
),

final as (
    select
        seen.question_id,
        seen.variant,
        told.question,
        told.domain,
        told.entity,
        coalesce(told.cluster, told.image_id, cast(seen.question_id as varchar)) as cluster,
        told.image_id,
        told.image_path,
        coalesce(told.has_image, false) as has_image,
        told.n_snippets,
        told.extra
    from seen
    left join told on seen.variant = told.variant and seen.question_id = told.question_id
)

select * from final order by variant, question_id
