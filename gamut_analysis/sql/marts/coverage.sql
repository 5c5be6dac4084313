-- Grain: one row per model, judge and variant: what was asked, what was graded, and each kind of what was not.
with asked as (
    select variant, count(distinct question_id) as questions_asked, count(*) as checks_asked
    from checks
    group by variant
),

answers_by_state as (
    select
        model, judge, variant, question_id, replicate,
        sum(ungraded) = 0 as is_graded,
        max(answer_status) as answer_status
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
        max(replicate) - min(replicate) + 1 as replicates
    from answers_by_state
    group by model, judge, variant
),

graded as (
    select
        model, judge, variant,
        count(*) as checks_delivered,
        count(verdict) as checks_graded,
        count(*) - count(verdict) as checks_ungraded
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
    from extras
    group by model, judge, variant
),

final as (
    select
        coalesce(answered.model, beyond.model) as model,
        coalesce(answered.judge, beyond.judge) as judge,
        coalesce(answered.variant, beyond.variant) as variant,
        coalesce(asked.questions_asked, 0) as questions_asked,
        coalesce(answered.questions_seen, 0) as questions_seen,
        coalesce(answered.questions_graded, 0) as questions_graded,
        coalesce(answered.no_response, 0) as no_response,
        coalesce(answered.answer_errors, 0) as answer_errors,
        coalesce(answered.replicates, 1) as replicates,
        coalesce(asked.checks_asked, 0) * coalesce(answered.replicates, 1) as checks_asked,
        coalesce(graded.checks_graded, 0) as checks_graded,
        coalesce(graded.checks_ungraded, 0) as checks_ungraded,
        greatest(
            coalesce(asked.checks_asked, 0) * coalesce(answered.replicates, 1) - coalesce(graded.checks_delivered, 0), 0
        ) as checks_not_judged,
        coalesce(beyond.checks_extra, 0) as checks_extra,
        coalesce(repeated.repeats, 0) as repeats,
        coalesce(repeated.superseded, 0) as superseded,
        coalesce(repeated.failed_attempts, 0) as failed_attempts,
        coalesce(repeated.conflicting, 0) as conflicting
    from answered
    full join beyond
        on answered.model = beyond.model and answered.judge = beyond.judge and answered.variant = beyond.variant
    left join asked on coalesce(answered.variant, beyond.variant) = asked.variant
    left join graded
        on answered.model = graded.model and answered.judge = graded.judge and answered.variant = graded.variant
    left join repeated
        on answered.model = repeated.model and answered.judge = repeated.judge and answered.variant = repeated.variant
)

select * from final order by model, judge, variant
