-- Grain: one row per model that answered, with the place of its name in text order.
with seen as (
    select model from delivered_verdicts where trim(model) <> ''
    union
    select model from delivered_answers where trim(model) <> ''
),

named as (
    select model, first(name) as name, first(maker) as maker, first(family) as family, first(weights) as weights
    from (select * from delivered_models order by source_id nulls last, row)
    group by model
),

final as (
    select
        seen.model, coalesce(named.name, seen.model) as name, named.maker, named.family, named.weights
    from seen
    left join named on seen.model = named.model
)

select * from final order by model
