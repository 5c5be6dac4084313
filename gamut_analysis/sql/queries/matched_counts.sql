-- Grain: one row per model, judge, question, replicate and tier of the multimodal variant, for one judge, over the
-- checks that the text-only rubric has too.
with shared_checks as (
    select shown.question_id, shown.check_id, shown.tier
    from checks as shown
    semi join checks as told
        on
            told.variant = 'text_only'
            and shown.question_id = told.question_id
            and shown.tier = told.tier
            -- Ids that count through a rubric shift where a check is left out, so the text decides where there is one.
            and coalesce(shown.text, shown.check_id) = coalesce(told.text, told.check_id)
    where shown.variant = 'multimodal'
),

rubric as (
    select question_id, tier, count(*) as checks
    from shared_checks
    group by question_id, tier
),

counted as (
    select
        verdicts.model, verdicts.question_id, verdicts.replicate, shared_checks.tier,
        count(*) filter (where verdicts.verdict = 'meets') as meets,
        count(*) filter (where verdicts.verdict = 'partially_meets') as partially_meets,
        count(*) filter (where verdicts.verdict = 'missing') as missing,
        count(*) filter (where verdicts.verdict = 'contradicts') as contradicts
    from verdicts
    inner join shared_checks
        on verdicts.question_id = shared_checks.question_id and verdicts.check_id = shared_checks.check_id
    where verdicts.variant = 'multimodal' and verdicts.judge = $judge
    group by verdicts.model, verdicts.question_id, verdicts.replicate, shared_checks.tier
),

-- The mart says what stands of a tier as a whole: all missing where the answer is empty, all ungraded where it was
-- not had.
tiers as (
    select
        model, judge, variant, question_id, replicate, tier, answer_status,
        answer_status = 'no_response' and ungraded = 0 as is_empty,
        answer_status in ('no_response', 'error') as is_silent
    from verdict_counts
    where variant = 'multimodal' and judge = $judge
),

final as (
    select
        tiers.model, tiers.judge, tiers.variant, tiers.question_id, tiers.replicate, tiers.tier,
        cast(case when tiers.is_silent then 0 else coalesce(counted.meets, 0) end as integer) as meets,
        cast(case when tiers.is_silent then 0 else coalesce(counted.partially_meets, 0) end as integer)
            as partially_meets,
        cast(
            case
                when tiers.is_empty then rubric.checks
                when tiers.is_silent then 0
                else coalesce(counted.missing, 0)
            end as integer
        ) as missing,
        cast(case when tiers.is_silent then 0 else coalesce(counted.contradicts, 0) end as integer) as contradicts,
        cast(rubric.checks as integer) as checks,
        tiers.answer_status
    from tiers
    inner join rubric on tiers.question_id = rubric.question_id and tiers.tier = rubric.tier
    left join counted
        on
            tiers.model = counted.model
            and tiers.question_id = counted.question_id
            and tiers.replicate = counted.replicate
            and tiers.tier = counted.tier
)

select *, checks - meets - partially_meets - missing - contradicts as ungraded
from final
order by model, question_id, replicate, tier
