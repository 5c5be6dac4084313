-- Grain: one row per model, judge, variant, question, replicate and tier of the rubric.
-- meets + partially_meets + missing + contradicts + ungraded = checks. An answer that is empty without a judge's error
-- counts as all missing; one that could not be had is ungraded.
with rubric as (
    select variant, question_id, question_no, tier, count(*) as checks
    from check_numbers
    group by variant, question_id, question_no, tier
),

counted as (
    select
        resolved.model_no, resolved.judge_no, checks.question_no, resolved.replicate, checks.tier,
        count(*) filter (where resolved.verdict = 'meets') as meets,
        count(*) filter (where resolved.verdict = 'partially_meets') as partially_meets,
        count(*) filter (where resolved.verdict = 'missing') as missing,
        count(*) filter (where resolved.verdict = 'contradicts') as contradicts,
        count(*) filter (where resolved.ungraded_reason like 'error: %') as judge_errors
    from resolved
    inner join check_numbers as checks on resolved.check_no = checks.check_no
    group by resolved.model_no, resolved.judge_no, checks.question_no, resolved.replicate, checks.tier
),

judged as (
    select model_no, judge_no, question_no, replicate, sum(judge_errors) as judge_errors
    from counted
    group by model_no, judge_no, question_no, replicate
),

numbered_models as (
    select model, row_number() over (order by model) as model_no from models
),

numbered_judges as (
    select judge, row_number() over (order by judge) as judge_no from judges
),

numbered_questions as (
    select distinct variant, question_id, question_no from check_numbers
),

numbered_answers as (
    select models.model_no, questions.question_no, questions.variant, answers.status
    from answers
    inner join numbered_models as models on answers.model = models.model
    inner join numbered_questions as questions
        on answers.variant = questions.variant and answers.question_id = questions.question_id
),

panels as (
    select distinct judged.model_no, judged.judge_no, questions.variant
    from judged
    inner join numbered_questions as questions on judged.question_no = questions.question_no
),

silent as (
    select answers.model_no, judges.judge_no, answers.question_no, 0 as replicate
    from numbered_answers as answers
    inner join numbered_judges as judges on true
    where
        answers.status in ('no_response', 'error')
        and (
            exists (
                select 1 from panels
                where
                    panels.model_no = answers.model_no
                    and panels.variant = answers.variant
                    and panels.judge_no = judges.judge_no
            )
            or not exists (
                select 1 from panels where panels.model_no = answers.model_no and panels.variant = answers.variant
            )
        )
),

grid as (
    select model_no, judge_no, question_no, replicate, judge_errors from judged
    union all
    select silent.model_no, silent.judge_no, silent.question_no, silent.replicate, 0
    from silent
    anti join judged
        on
            silent.model_no = judged.model_no
            and silent.judge_no = judged.judge_no
            and silent.question_no = judged.question_no
),

decided as (
    select
        grid.*, rubric.variant, rubric.question_id, rubric.tier, rubric.checks, answers.status,
        coalesce(answers.status = 'no_response' and grid.judge_errors = 0, false) as is_empty,
        coalesce(answers.status in ('no_response', 'error'), false) as is_silent
    from grid
    inner join rubric on grid.question_no = rubric.question_no
    left join numbered_answers as answers
        on grid.model_no = answers.model_no and grid.question_no = answers.question_no
),

final as (
    select
        models.model,
        judges.judge,
        decided.variant,
        decided.question_id,
        decided.replicate,
        decided.tier,
        cast(case when decided.is_silent then 0 else coalesce(counted.meets, 0) end as integer) as meets,
        cast(case when decided.is_silent then 0 else coalesce(counted.partially_meets, 0) end as integer)
            as partially_meets,
        cast(
            case when decided.is_empty then decided.checks when decided.is_silent then 0 else coalesce(counted.missing, 0) end
            as integer
        ) as missing,
        cast(case when decided.is_silent then 0 else coalesce(counted.contradicts, 0) end as integer) as contradicts,
        cast(decided.checks as integer) as checks,
        coalesce(decided.status, 'unrecorded') as answer_status
    from decided
    inner join numbered_models as models on decided.model_no = models.model_no
    inner join numbered_judges as judges on decided.judge_no = judges.judge_no
    left join counted
        on
            decided.model_no = counted.model_no
            and decided.judge_no = counted.judge_no
            and decided.question_no = counted.question_no
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
