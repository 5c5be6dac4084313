-- Grain: one row per delivered value or line that could not be used, by source; a row may have several.
with flagged as materialized (
    select source_id, row, fault, fault_value, ungraded_reason, unread_verdict, unread_time, other_tier
    from attempts
    where fault is not null or unread_verdict is not null or unread_time is not null or other_tier is not null
),

of_verdicts as (
    select
        source_id, row, case when fault = 'extra' then 'check_id' else fault end as field, fault_value as value,
        case
            when fault = 'extra' then 'extra: the rubric of this question has no such check'
            when fault = 'replicate' then 'a whole number from 0 to 9999 is needed'
            when fault <> 'variant' then 'blank: every verdict needs a ' || fault
            when fault_value is null
                then 'blank, and the data holds both variants: constants = { variant = "..." } would tell'
            else 'unknown variant: multimodal or text_only is needed'
        end as reason
    from flagged
    where fault is not null
    union all
    select
        source_id, row, 'verdict', unread_verdict,
        case
            when ungraded_reason like 'error: %' then 'a verdict beside an error, which stands: the check is ungraded'
            else 'unknown label: meets, partially_meets, missing or contradicts is needed (or a mapping under [labels])'
        end
    from flagged
    where fault is null and unread_verdict is not null
    union all
    select source_id, row, 'judged_at', unread_time, 'not a time: 2026-07-01T09:15:00Z or seconds since 1970 is needed'
    from flagged
    where fault is null and unread_time is not null
    union all
    select source_id, row, 'tier', other_tier, 'not the tier that the rubric gives this check; the rubric stands'
    from flagged
    where fault is null and other_tier is not null
),

of_checks as (
    select
        source_id, row, fault as field,
        case fault when 'tier' then given_tier when 'variant' then given_variant end as value,
        case
            when fault = 'variant' then 'unknown variant: multimodal or text_only is needed'
            when fault <> 'tier' then 'blank: every check needs a ' || fault
            when given_tier is null then 'blank: every check needs a tier (or constants = { tier = "..." })'
            else 'unknown tier: answer_critical, valuable or context is needed (or a mapping under [tiers])'
        end as reason
    from stg_checks
    where fault is not null
    union all
    select source_id, row, 'role', given_role, 'unknown role; the check is kept without one'
    from stg_checks
    where fault is null and given_role is not null and role is null
    union all
    select source_id, row, 'item_type', given_item_type, 'unknown item type; the check is kept without one'
    from stg_checks
    where fault is null and given_item_type is not null and item_type is null
    union all
    select
        staged.source_id, staged.row, 'check_id', cast(staged.check_id as varchar),
        'another check of this question has this id; the first one stands'
    from stg_checks as staged
    inner join checks
        on
            staged.variant = checks.variant
            and staged.question_id = checks.question_id
            and staged.check_id = checks.check_id
    where staged.fault is null and (staged.tier <> checks.tier or staged.text is distinct from checks.text)
),

of_questions as (
    select
        source_id, row, fault as field, given_variant as value,
        case fault
            when 'variant' then 'unknown variant: multimodal or text_only is needed'
            else 'blank: every question needs a question_id'
        end as reason
    from stg_questions
    where fault is not null
    union all
    select
        staged.source_id, staged.row, 'question_id', cast(staged.question_id as varchar),
        'another question has this id; the first one stands'
    from stg_questions as staged
    inner join questions on staged.variant = questions.variant and staged.question_id = questions.question_id
    where
        staged.fault is null
        and (
            staged.question is distinct from questions.question
            or staged.domain is distinct from questions.domain
            or staged.entity is distinct from questions.entity
            or staged.image_id is distinct from questions.image_id
            or coalesce(staged.cluster, staged.image_id, cast(staged.question_id as varchar)) <> questions.cluster
        )
),

of_answers as (
    select
        source_id, row, fault as field, given_variant as value,
        case
            when fault <> 'variant' then 'blank: every answer needs a ' || fault
            when given_variant is null
                then 'blank, and the data holds both variants: constants = { variant = "..." } would tell'
            else 'unknown variant: multimodal or text_only is needed'
        end as reason
    from stg_answers
    where fault is not null
    union all
    select source_id, row, 'answered_at', given_time, 'not a time: 2026-07-01T09:15:00Z or seconds since 1970 is needed'
    from stg_answers
    where fault is null and answered_at is null and given_time is not null
    union all
    select
        staged.source_id, staged.row, 'answer', staged.answer,
        'another answer of this model to this question stands: the last one, or the first where no time tells'
    from stg_answers as staged
    inner join answers
        on
            staged.model = answers.model
            and staged.variant = answers.variant
            and staged.question_id = answers.question_id
    where staged.fault is null and staged.status in ('answered', 'no_response') and staged.answer <> answers.answer
),

of_gradings as (
    select
        source_id, row, fault as field,
        case fault
            when 'model' then given_model
            when 'judge' then given_judge
            when 'variant' then given_variant
            when 'question_id' then given_question
            when 'replicate' then given_replicate
        end as value,
        case
            when fault = 'replicate' then 'a whole number from 0 to 9999 is needed'
            when fault = 'model' and given_model is not null then 'no verdict and no answer is of this model'
            when fault = 'judge' and given_judge is not null then 'no verdict is of this judge'
            when fault = 'question_id' and given_question is not null then 'there is no such question'
            when fault <> 'variant' then 'blank: every grading needs a ' || fault
            when given_variant is null
                then 'blank, and the data holds both variants: constants = { variant = "..." } would tell'
            else 'unknown variant: multimodal or text_only is needed'
        end as reason
    from stg_gradings
    where fault is not null
    union all
    select source_id, row, 'judged_at', given_time, 'not a time: 2026-07-01T09:15:00Z or seconds since 1970 is needed'
    from stg_gradings
    where fault is null and judged_at is null and given_time is not null
    union all
    select
        staged.source_id, staged.row, 'question_id', staged.given_question,
        'another grading of this answer by this judge stands, and no time tells which is the last'
    from stg_gradings as staged
    inner join gradings
        on
            staged.model = gradings.model
            and staged.judge = gradings.judge
            and staged.variant = gradings.variant
            and staged.question_id = gradings.question_id
            and staged.replicate = gradings.replicate
    where
        staged.fault is null
        and coalesce(staged.judged_at >= gradings.judged_at, true)
        and (
            staged.prompt_hash is distinct from gradings.prompt_hash
            or staged.calls is distinct from gradings.calls
            or staged.input_tokens is distinct from gradings.input_tokens
            or staged.output_tokens is distinct from gradings.output_tokens
            or staged.cost_usd is distinct from gradings.cost_usd
        )
),

of_items as (
    select
        source_id, row, fault as field,
        case fault when 'item_type' then given_item_type when 'tier' then given_tier end as value,
        'blank or unknown ' || fault as reason
    from stg_items
    where fault is not null
    union all
    select source_id, row, 'insight_tier', given_insight_tier, 'unknown tier; the item is kept without it'
    from stg_items
    where fault is null and given_insight_tier is not null and insight_tier is null
    union all
    select
        staged.source_id, staged.row, 'item_id', staged.item_id,
        'another item of this question has this id; the first one stands'
    from stg_items as staged
    inner join items on staged.question_id = items.question_id and staged.item_id = items.item_id
    where
        staged.fault is null
        and (
            staged.tier <> items.tier
            or staged.item_type <> items.item_type
            or staged.description is distinct from items.description
        )
),

of_names as (
    select source_id, row, 'model' as field, null as value, 'blank: every model needs a name' as reason
    from delivered_models
    where model is null
    union all
    select source_id, row, 'judge', null, 'blank: every judge needs a name'
    from delivered_judges
    where judge is null
),

final as (
    select source_id, row, field, value, reason from delivered_rejects
    union all
    select * from of_verdicts
    union all
    select * from of_checks
    union all
    select * from of_questions
    union all
    select * from of_answers
    union all
    select * from of_gradings
    union all
    select * from of_items
    union all
    select * from of_names
)

select * from final
