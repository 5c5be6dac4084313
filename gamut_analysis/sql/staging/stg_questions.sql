-- Grain: one row per delivered question and variant; a question that names no variant stands in every one.
with final as (
    select
        coalesce(labels.variant, variants.variant) as variant,
        trim(delivered.question_id) as question_id,
        delivered.question,
        nullif(trim(delivered.domain), '') as domain,
        nullif(trim(delivered.entity), '') as entity,
        nullif(trim(delivered.cluster), '') as cluster,
        nullif(trim(delivered.image_id), '') as image_id,
        nullif(trim(delivered.image), '') as image_path,
        delivered.image is not null as has_image,
        delivered.extra,
        delivered.source_id,
        delivered.row,
        case
            when nullif(trim(delivered.question_id), '') is null then 'question_id'
            when nullif(trim(delivered.variant), '') is not null and labels.variant is null then 'variant'
        end as fault
    from delivered_questions as delivered
    left join variant_labels as labels on delivered.variant = labels.given
    left join stg_variants as variants on nullif(trim(delivered.variant), '') is null
)

select * from final
