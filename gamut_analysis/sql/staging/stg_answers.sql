-- Grain: one row per delivered answer. An answer that names no variant belongs to the only one that the data speaks of.
with only_variant as (
    select case when count(*) = 1 then any_value(variant) end as variant from stg_variants
),

labelled as (
    select
        delivered.*,
        case when delivered.variant is null then only_variant.variant else variants.variant end as known_variant,
        case
            when lower(delivered.error) not in ('false', 'none', 'null', 'nan', '0', '[]', '{}') then delivered.error
        end as failure,
        try_cast(delivered.answered_at as double) as clock
    from delivered_answers as delivered
    cross join only_variant
    left join variant_labels as variants on delivered.variant = variants.given
),

final as (
    select
        try_cast(model as model_enum) as model,
        known_variant as variant,
        try_cast(question_id as question_enum) as question_id,
        answer,
        failure as error,
        case
            when regexp_matches(answered_at, '^[0-9]{4}-') then try_cast(answered_at as timestamptz)
            when clock between 1e8 and 1e11 then to_timestamp(clock)
            when clock between 1e12 and 1e13 then to_timestamp(clock / 1000)
        end as answered_at,
        case
            when failure is not null then 'error'
            when answer is null then 'unrecorded'
            when regexp_full_match(answer, '[\s\p{Z}\x{200B}\x{FEFF}]*') then 'no_response'
            else 'answered'
        end as status,
        extra,
        source_id,
        row,
        variant as given_variant,
        answered_at as given_time,
        case
            when model is null then 'model'
            when question_id is null then 'question_id'
            when known_variant is null then 'variant'
        end as fault
    from labelled
)

select * from final
