-- Grain: one row per delivered answer and variant.
with final as (
    select
        delivered.model,
        coalesce(labels.variant, variants.variant) as variant,
        trim(delivered.question_id) as question_id,
        delivered.answer,
        nullif(trim(delivered.error), '') as error,
        try_cast(delivered.answered_at as timestamptz) as answered_at,
        case
            when nullif(trim(delivered.error), '') is not null then 'error'
            when delivered.answer is null then 'unrecorded'
            when regexp_full_match(delivered.answer, '[\s\p{Z}\x{200B}\x{FEFF}]*') then 'no_response'
            else 'answered'
        end as status,
        delivered.extra,
        delivered.source_id,
        delivered.row,
        case
            when nullif(trim(delivered.model), '') is null then 'model'
            when nullif(trim(delivered.question_id), '') is null then 'question_id'
            when nullif(trim(delivered.variant), '') is not null and labels.variant is null then 'variant'
        end as fault
    from delivered_answers as delivered
    left join variant_labels as labels on delivered.variant = labels.given
    left join stg_variants as variants on nullif(trim(delivered.variant), '') is null
)

select * from final
