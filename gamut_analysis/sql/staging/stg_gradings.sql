-- Grain: one row per delivered grading of one answer by one judge. A grading that names no variant belongs to the only
-- one that the data speaks of. `fault` names the field that keeps a row out: models, judges and questions are those
-- that verdicts, answers and rubrics know.
with only_variant as (
    select case when count(*) = 1 then any_value(variant) end as variant from stg_variants
),

labelled as (
    select
        delivered.*,
        case when delivered.variant is null then only_variant.variant else variants.variant end as known_variant,
        try_cast(delivered.judged_at as double) as clock
    from delivered_gradings as delivered
    cross join only_variant
    left join variant_labels as variants on delivered.variant = variants.given
),

final as (
    select
        try_cast(model as model_enum) as model,
        try_cast(judge as judge_enum) as judge,
        known_variant as variant,
        try_cast(question_id as question_enum) as question_id,
        case
            when replicate is null then 0
            when regexp_full_match(replicate, '[0-9]{1,4}') then try_cast(replicate as integer)
        end as replicate,
        prompt,
        prompt_hash,
        try_cast(checks_per_call as integer) as checks_per_call,
        try_cast(calls as integer) as calls,
        try_cast(input_tokens as integer) as input_tokens,
        try_cast(output_tokens as integer) as output_tokens,
        try_cast(cost_usd as double) as cost_usd,
        try_cast(seconds as double) as seconds,
        run_status,
        case
            when regexp_matches(judged_at, '^[0-9]{4}-') then try_cast(judged_at as timestamptz)
            when clock between 1e8 and 1e11 then to_timestamp(clock)
            when clock between 1e12 and 1e13 then to_timestamp(clock / 1000)
        end as judged_at,
        extra,
        source_id,
        row,
        model as given_model,
        judge as given_judge,
        variant as given_variant,
        cast(question_id as varchar) as given_question,
        replicate as given_replicate,
        judged_at as given_time,
        case
            when try_cast(model as model_enum) is null then 'model'
            when try_cast(judge as judge_enum) is null then 'judge'
            when known_variant is null then 'variant'
            when try_cast(question_id as question_enum) is null then 'question_id'
            when replicate is not null and not regexp_full_match(replicate, '[0-9]{1,4}') then 'replicate'
        end as fault
    from labelled
)

select * from final
