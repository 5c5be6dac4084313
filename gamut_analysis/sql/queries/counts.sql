-- Grain: one row per model, judge, variant, question, replicate, tier, role and tier of the item, for one judge and
-- variant, over the checks in `placed`; what its query does not tell apart is null.
with rubric as (
    select question_id, tier, role, item_tier, count(*) as checks
    from placed
    group by question_id, tier, role, item_tier
),

counted as (
    select
        verdicts.model, verdicts.question_id, verdicts.replicate, placed.tier, placed.role, placed.item_tier,
        count(*) filter (where verdicts.verdict = 'meets') as meets,
        count(*) filter (where verdicts.verdict = 'partially_meets') as partially_meets,
        count(*) filter (where verdicts.verdict = 'missing') as missing,
        count(*) filter (where verdicts.verdict = 'contradicts') as contradicts
    from verdicts
    inner join placed on verdicts.question_id = placed.question_id and verdicts.check_id = placed.check_id
    where verdicts.variant = $variant and verdicts.judge = $judge
    group by all
),

-- The mart says what stands of a tier as a whole: all missing where the answer is empty, all ungraded where it was
-- not had.
tiers as (
    select
        model, judge, variant, question_id, replicate, tier, answer_status,
        answer_status = 'no_response' and ungraded = 0 as is_empty,
        answer_status in ('no_response', 'error') as is_silent
    from verdict_counts
    where variant = $variant and judge = $judge
),

final as (
    select
        tiers.model, tiers.judge, tiers.variant, tiers.question_id, tiers.replicate, tiers.tier,
        rubric.role, rubric.item_tier,
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
            and rubric.role is not distinct from counted.role
            and rubric.item_tier is not distinct from counted.item_tier
)

select *, checks - meets - partially_meets - missing - contradicts as ungraded
from final
order by model, question_id, replicate, tier, role, item_tier
