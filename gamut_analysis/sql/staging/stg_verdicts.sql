-- Grain: one row per delivered verdict, its ids and labels as ENUMs, its number and its time read. `fault` names the
-- field that keeps a row out. A verdict that names no variant belongs to the only one that the data speaks of.
with only_variant as (
    select case when count(*) = 1 then any_value(variant) end as variant from stg_variants
),

labelled as (
    select
        delivered.*,
        verdicts.verdict as label,
        case when delivered.variant is null then only_variant.variant else variants.variant end as known_variant,
        case
            when lower(delivered.error) not in ('false', 'none', 'null', 'nan', '0', '[]', '{}') then delivered.error
        end as failure,
        try_cast(delivered.judged_at as double) as clock
    from delivered_verdicts as delivered
    cross join only_variant
    left join variant_labels as variants on delivered.variant = variants.given
    left join verdict_labels as verdicts on delivered.verdict = verdicts.given
),

final as (
    select
        try_cast(model as model_enum) as model,
        try_cast(judge as judge_enum) as judge,
        known_variant as variant,
        try_cast(question_id as question_enum) as question_id,
        try_cast(check_id as check_enum) as check_id,
        case
            when replicate is null then 0
            when regexp_full_match(replicate, '[0-9]{1,4}') then try_cast(replicate as integer)
        end as replicate,
        case when failure is null then label end as verdict,
        case
            when failure is not null then 'error: ' || failure
            when label is not null then null
            when verdict is null then 'no verdict'
            else 'unknown label: ' || verdict
        end as ungraded_reason,
        case
            when regexp_matches(judged_at, '^[0-9]{4}-') then try_cast(judged_at as timestamptz)
            when clock between 1e8 and 1e11 then to_timestamp(clock)
            when clock between 1e12 and 1e13 then to_timestamp(clock / 1000)
        end as judged_at,
        rationale,
        extra,
        source_id,
        row,
        tier as given_tier,
        variant as given_variant,
        question_id as given_question,
        check_id as given_check,
        replicate as given_replicate,
        verdict as given_verdict,
        judged_at as given_time,
        case
            when model is null then 'model'
            when judge is null then 'judge'
            when known_variant is null then 'variant'
            when question_id is null then 'question_id'
            when check_id is null then 'check_id'
            when replicate is not null and not regexp_full_match(replicate, '[0-9]{1,4}') then 'replicate'
        end as fault
    from labelled
)

select * from final
