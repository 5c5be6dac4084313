-- Grain: one row per delivered question and variant; a question that names no variant stands in every one.
with final as (
    select
        coalesce(variants.variant, every.variant) as variant,
        try_cast(delivered.question_id as question_enum) as question_id,
        delivered.question,
        delivered.domain,
        delivered.entity,
        delivered.cluster,
        delivered.image_id,
        cast(delivered.n_snippets as integer) as n_snippets,
        nullif(trim(delivered.image), '') as image_path,
        delivered.image is not null as has_image,
        delivered.extra,
        delivered.source_id,
        delivered.row,
        delivered.variant as given_variant,
        case
            when delivered.question_id is null then 'question_id'
            when delivered.variant is not null and variants.variant is null then 'variant'
        end as fault
    from delivered_questions as delivered
    left join variant_labels as variants on delivered.variant = variants.given
    left join stg_variants as every on delivered.variant is null
)

select * from final
