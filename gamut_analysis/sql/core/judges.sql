-- Grain: one row per judge that graded. `model` names the model that the judge is, where it is one of those judged.
with seen as (
    select distinct judge from delivered_verdicts where trim(judge) <> ''
),

named as (
    select judge, first(name) as name, first(kind) as kind, first(model) as model
    from (select * from delivered_judges order by source_id nulls last, row)
    group by judge
),

final as (
    select
        seen.judge,
        coalesce(named.name, models.name, seen.judge) as name,
        coalesce(named.kind, case when models.model is not null then 'model' end) as kind,
        coalesce(named.model, models.model) as model
    from seen
    left join named on seen.judge = named.judge
    left join models on seen.judge = models.model
)

select * from final order by judge
