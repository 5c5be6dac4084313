-- Grain: one row per delivered value or line that could not be used, with the file and the line where it stands.
with found as (
    select source_id, row, field, value, reason from delivered_rejects
    union all
    select
        source_id, row, fault, fault_value,
        case
            when nullif(trim(fault_value), '') is null then 'blank: every verdict needs a ' || fault
            when fault = 'variant' then 'unknown variant: multimodal or text_only is needed'
            else 'a whole number from 0 to 65535 is needed'
        end
    from attempts
    where fault is not null and fault <> 'extra'
    union all
    select
        source_id, row, 'verdict', given_verdict,
        'unknown label: meets, partially_meets, missing or contradicts is needed (or a mapping under [labels])'
    from attempts
    where key is not null and ungraded_reason like 'unknown label: %'
    union all
    select source_id, row, 'verdict', given_verdict, 'a verdict beside an error: the error stands, the check is ungraded'
    from attempts
    where key is not null and ungraded_reason like 'error: %' and nullif(trim(given_verdict), '') is not null
    union all
    select source_id, row, 'judged_at', given_time, 'not a time: 2026-07-01T09:15:00Z or seconds since 1970 is needed'
    from attempts
    where key is not null and given_time is not null
    union all
    select source_id, row, 'check_id', check_id, 'extra: the rubric of question ' || question_id || ' has no such check'
    from extras
    union all
    select
        source_id, row, fault,
        case fault when 'tier' then given_tier end,
        case
            when fault <> 'tier' then 'blank or unknown ' || fault
            when nullif(trim(given_tier), '') is null then 'blank: every check needs a tier (or constants = { tier = "..." })'
            else 'unknown tier: answer_critical, valuable or context is needed (or a mapping under [tiers])'
        end
    from stg_checks
    where fault is not null
    union all
    select source_id, row, 'role', given_role, 'unknown role; the check is kept without one'
    from stg_checks
    where fault is null and nullif(trim(given_role), '') is not null and role is null
    union all
    select staged.source_id, staged.row, 'check_id', staged.check_id,
        'another check of question ' || staged.question_id || ' has this id; the first one stands'
    from stg_checks as staged
    inner join checks
        on
            staged.variant = checks.variant
            and staged.question_id = checks.question_id
            and staged.check_id = checks.check_id
    where staged.fault is null and (staged.tier <> checks.tier or staged.text is distinct from checks.text)
    union all
    select source_id, row, fault, null, 'blank or unknown ' || fault from stg_questions where fault is not null
    union all
    select staged.source_id, staged.row, 'question_id', staged.question_id,
        'another question has this id; the first one stands'
    from stg_questions as staged
    inner join questions on staged.variant = questions.variant and staged.question_id = questions.question_id
    where
        staged.fault is null
        and (staged.question is distinct from questions.question or staged.domain is distinct from questions.domain)
    union all
    select source_id, row, fault, null, 'blank or unknown ' || fault from stg_answers where fault is not null
    union all
    select source_id, row, fault,
        case fault when 'item_type' then given_item_type when 'tier' then given_tier end,
        'blank or unknown ' || fault
    from stg_items
    where fault is not null
),

final as (
    select distinct sources.file, found.row, found.field, found.value, found.reason
    from found
    left join delivered_sources as sources on found.source_id = sources.source_id
)

select * from final order by file, row, field, value, reason
