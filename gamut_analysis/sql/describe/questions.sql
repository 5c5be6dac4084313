-- Grain: one row per variant.
with checked as (
    select variant, question_id, count(*) as checks from checks group by variant, question_id
),

final as (
    select
        questions.variant,
        count(*) as questions,
        count(questions.question) as with_text,
        count(checked.checks) as with_checks,
        cast(coalesce(sum(checked.checks), 0) as bigint) as checks,
        count(distinct questions.domain) as domains,
        count(distinct questions.cluster) as clusters
    from questions
    left join checked on questions.variant = checked.variant and questions.question_id = checked.question_id
    group by questions.variant
)

select * from final order by variant
