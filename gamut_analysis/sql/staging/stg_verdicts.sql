-- Grain: one row per delivered verdict and variant, with its ids trimmed, its label and its time read.
with cleaned as (
    select
        delivered.model,
        delivered.judge,
        coalesce(labels.variant, variants.variant) as variant,
        delivered.variant as given_variant,
        trim(delivered.question_id) as question_id,
        trim(delivered.check_id) as check_id,
        case
            when nullif(trim(delivered.replicate), '') is null then 0 else try_cast(trim(delivered.replicate) as integer)
        end as replicate,
        delivered.replicate as given_replicate,
        verdicts.verdict as label,
        nullif(trim(delivered.error), '') as error,
        nullif(trim(delivered.judged_at), '') as given_time,
        delivered.verdict as given_verdict,
        delivered.rationale,
        delivered.extra,
        delivered.source_id,
        delivered.row
    from delivered_verdicts as delivered
    left join variant_labels as labels on delivered.variant = labels.given
    left join stg_variants as variants on nullif(trim(delivered.variant), '') is null
    left join verdict_labels as verdicts on delivered.verdict = verdicts.given
),

final as (
    select
        *,
        coalesce(
            try_cast(given_time as timestamptz),
            case when try_cast(given_time as double) between 1e8 and 1e11 then to_timestamp(cast(given_time as double)) end
        ) as judged_at,
        case when error is null then label end as verdict,
        case
            when error is not null then 'error: ' || error
            when label is not null then null
            when nullif(trim(given_verdict), '') is null then 'no verdict'
            else 'unknown label: ' || given_verdict
        end as ungraded_reason
    from cleaned
)

select * from final
