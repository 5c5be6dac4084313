-- Grain: one row per judge that graded. `model` names the model that the judge is, where it is one of those judged.
with seen as (
    select unnest(enum_range(cast(null as judge_enum))) as judge
),

named as (
    select
        judge,
        any_value(name order by source_id nulls first, row) as name,
        any_value(kind order by source_id nulls first, row) as kind,
        any_value(model order by source_id nulls first, row) as model
    from delivered_judges
    group by judge
),

final as (
    select
        cast(seen.judge as judge_enum) as judge,
        coalesce(named.name, models.name, cast(seen.judge as varchar)) as name,
        coalesce(named.kind, case when models.model is not null then 'model' end) as kind,
        coalesce(named.model, cast(models.model as varchar)) as model
    from seen
    left join named on cast(seen.judge as varchar) = named.judge
    left join models on cast(seen.judge as varchar) = cast(models.model as varchar)
)

select * from final order by judge
