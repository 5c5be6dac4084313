-- Grain: one row per model, judge and variant: what was asked, what was graded, and each kind of what was not.
with asked as (
    select variant, count(distinct question_id) as questions_asked, count(*) as checks_asked
    from checks
    group by variant
),

judged as (
    select
        model, judge, variant, question_id, replicate,
        sum(ungraded) = 0 as is_graded,
        any_value(answer_status) as answer_status
    from verdict_counts
    group by model, judge, variant, question_id, replicate
),

answered as (
    select
        model, judge, variant,
        count(distinct question_id) as questions_seen,
        count(distinct question_id) filter (where is_graded) as questions_graded,
        count(distinct question_id) filter (where answer_status = 'no_response') as no_response,
        count(distinct question_id) filter (where answer_status = 'error') as answer_errors,
        count(distinct replicate) as replicates
    from judged
    group by model, judge, variant
),

delivered as (
    select
        model, judge, variant,
        count(*) as checks_delivered,
        count(verdict) as checks_graded
    from verdicts
    group by model, judge, variant
),

repeated as (
    select
        model, judge, variant,
        count(*) filter (where kind = 'repeat') as repeats,
        count(*) filter (where kind = 'superseded') as superseded,
        count(*) filter (where kind = 'failed_attempt') as failed_attempts,
        count(*) filter (where kind = 'conflict') as conflicting
    from duplicates
    group by model, judge, variant
),

beyond as (
    select model, judge, variant, count(*) as checks_extra
    from attempts
    where fault = 'extra'
    group by model, judge, variant
),

panels as (
    select model, judge, variant from answered
    union
    select model, judge, variant from beyond
),

final as (
    select
        panels.model,
        panels.judge,
        panels.variant,
        coalesce(asked.questions_asked, 0) as questions_asked,
        coalesce(answered.questions_seen, 0) as questions_seen,
        coalesce(answered.questions_graded, 0) as questions_graded,
        coalesce(answered.no_response, 0) as no_response,
        coalesce(answered.answer_errors, 0) as answer_errors,
        coalesce(answered.replicates, 1) as replicates,
        coalesce(asked.checks_asked, 0) * coalesce(answered.replicates, 1) as checks_asked,
        coalesce(delivered.checks_graded, 0) as checks_graded,
        coalesce(delivered.checks_delivered - delivered.checks_graded, 0) as checks_ungraded,
        coalesce(asked.checks_asked, 0) * coalesce(answered.replicates, 1) - coalesce(delivered.checks_delivered, 0)
            as checks_not_judged,
        coalesce(beyond.checks_extra, 0) as checks_extra,
        coalesce(repeated.repeats, 0) as repeats,
        coalesce(repeated.superseded, 0) as superseded,
        coalesce(repeated.failed_attempts, 0) as failed_attempts,
        coalesce(repeated.conflicting, 0) as conflicting
    from panels
    left join asked on panels.variant = asked.variant
    left join answered
        on panels.model = answered.model and panels.judge = answered.judge and panels.variant = answered.variant
    left join delivered
        on panels.model = delivered.model and panels.judge = delivered.judge and panels.variant = delivered.variant
    left join repeated
        on panels.model = repeated.model and panels.judge = repeated.judge and panels.variant = repeated.variant
    left join beyond
        on panels.model = beyond.model and panels.judge = beyond.judge and panels.variant = beyond.variant
)

select * from final order by model, judge, variant
