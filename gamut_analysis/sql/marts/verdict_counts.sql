-- Grain: one row per model, judge, variant, question, replicate and tier of the rubric.
-- meets + partially_meets + missing + contradicts + ungraded = checks. An answer that is empty without a judge's error
-- counts as all missing; one that could not be had is ungraded.
with rubric as (
    select variant, question_id, tier, count(*) as checks
    from checks
    group by variant, question_id, tier
),

counted as (
    select
        verdicts.model, verdicts.judge, verdicts.variant, verdicts.question_id, verdicts.replicate, checks.tier,
        count(*) filter (where verdicts.verdict = 'meets') as meets,
        count(*) filter (where verdicts.verdict = 'partially_meets') as partially_meets,
        count(*) filter (where verdicts.verdict = 'missing') as missing,
        count(*) filter (where verdicts.verdict = 'contradicts') as contradicts,
        count(*) filter (where verdicts.ungraded_reason like 'error: %') as judge_errors
    from verdicts
    inner join checks
        on
            verdicts.variant = checks.variant
            and verdicts.question_id = checks.question_id
            and verdicts.check_id = checks.check_id
    group by
        verdicts.model, verdicts.judge, verdicts.variant, verdicts.question_id, verdicts.replicate, checks.tier
),

judged as (
    select model, judge, variant, question_id, replicate, sum(judge_errors) as judge_errors
    from counted
    group by model, judge, variant, question_id, replicate
),

panels as (
    select distinct model, judge, variant from judged
),

-- Answers with nothing to grade, for each judge of the model; for every judge where none has graded it.
silent as (
    select answers.model, judges.judge, answers.variant, answers.question_id
    from answers
    cross join judges
    left join panels
        on answers.model = panels.model and answers.variant = panels.variant and judges.judge = panels.judge
    where
        answers.status in ('no_response', 'error')
        and (
            panels.judge is not null
            or not exists (
                select 1 from panels as own where own.model = answers.model and own.variant = answers.variant
            )
        )
),

grid as (
    select model, judge, variant, question_id, replicate, judge_errors from judged
    union all
    select silent.model, silent.judge, silent.variant, silent.question_id, 0 as replicate, 0 as judge_errors
    from silent
    anti join judged
        on
            silent.model = judged.model
            and silent.judge = judged.judge
            and silent.variant = judged.variant
            and silent.question_id = judged.question_id
),

decided as (
    select
        grid.*, rubric.tier, rubric.checks, answers.status,
        coalesce(answers.status = 'no_response' and grid.judge_errors = 0, false) as is_empty,
        coalesce(answers.status in ('no_response', 'error'), false) as is_silent
    from grid
    inner join rubric on grid.variant = rubric.variant and grid.question_id = rubric.question_id
    left join answers
        on
            grid.model = answers.model
            and grid.variant = answers.variant
            and grid.question_id = answers.question_id
),

final as (
    select
        decided.model,
        decided.judge,
        decided.variant,
        decided.question_id,
        decided.replicate,
        decided.tier,
        cast(case when decided.is_silent then 0 else coalesce(counted.meets, 0) end as integer) as meets,
        cast(case when decided.is_silent then 0 else coalesce(counted.partially_meets, 0) end as integer)
            as partially_meets,
        cast(
            case
                when decided.is_empty then decided.checks
                when decided.is_silent then 0
                else coalesce(counted.missing, 0)
            end as integer
        ) as missing,
        cast(case when decided.is_silent then 0 else coalesce(counted.contradicts, 0) end as integer) as contradicts,
        cast(decided.checks as integer) as checks,
        coalesce(decided.status, 'unrecorded') as answer_status
    from decided
    left join counted
        on
            decided.model = counted.model
            and decided.judge = counted.judge
            and decided.variant = counted.variant
            and decided.question_id = counted.question_id
            and decided.replicate = counted.replicate
            and decided.tier = counted.tier
)

select
    model, judge, variant, question_id, replicate, tier, meets, partially_meets, missing, contradicts,
    checks - meets - partially_meets - missing - contradicts as ungraded,
    checks,
    answer_status
from final
order by model, judge, variant, question_id, replicate, tier
