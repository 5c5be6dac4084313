-- Grain: one row per delivered verdict. A row with a `fault` cannot be used; `extra` marks one on a check that the
-- rubric does not have. `unread_...` and `other_tier` hold values that were passed over in a row that is used.
with judged as (
    select
        verdicts.*,
        coalesce(verdicts.fault, case when checks.check_id is null then 'extra' end) as final_fault,
        case when coalesce(tiers.tier <> checks.tier, true) then verdicts.given_tier end as other_tier
    from stg_verdicts as verdicts
    left join checks
        on
            verdicts.variant = checks.variant
            and verdicts.question_id = checks.question_id
            and verdicts.check_id = checks.check_id
    left join tier_labels as tiers on verdicts.given_tier = tiers.given
),

final as (
    select
        model,
        judge,
        variant,
        question_id,
        check_id,
        replicate,
        verdict,
        ungraded_reason,
        rationale,
        judged_at,
        extra,
        source_id,
        row,
        final_fault as fault,
        case final_fault
            when 'variant' then given_variant
            when 'replicate' then given_replicate
            when 'extra' then given_question || ' / ' || given_check
        end as fault_value,
        case when ungraded_reason is not null then given_verdict end as unread_verdict,
        case when judged_at is null then given_time end as unread_time,
        other_tier
    from judged
)

select * from final
