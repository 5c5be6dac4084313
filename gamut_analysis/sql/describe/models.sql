-- Grain: one row per model.
with judged as (
    select
        model,
        count(distinct judge) as judges,
        count(distinct question_id) as questions_judged,
        count(verdict) as verdicts
    from verdicts
    group by model
),

answered as (
    select
        model,
        count(*) filter (where status = 'answered') as answered,
        count(*) filter (where status = 'no_response') as no_response,
        count(*) filter (where status = 'error') as answer_errors
    from answers
    group by model
),

final as (
    select
        models.model,
        models.name,
        coalesce(answered.answered, 0) as answered,
        coalesce(answered.no_response, 0) as no_response,
        coalesce(answered.answer_errors, 0) as answer_errors,
        coalesce(judged.judges, 0) as judges,
        coalesce(judged.questions_judged, 0) as questions_judged,
        coalesce(judged.verdicts, 0) as verdicts
    from models
    left join answered on models.model = answered.model
    left join judged on models.model = judged.model
)

select * from final order by model
