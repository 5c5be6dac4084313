-- Grain: one row per model that answered or was judged. What the manifest says of it comes before what files say.
with seen as (
    select unnest(enum_range(cast(null as model_enum))) as model
),

named as (
    select
        model,
        any_value(name order by source_id nulls first, row) as name,
        any_value(maker order by source_id nulls first, row) as maker,
        any_value(family order by source_id nulls first, row) as family,
        any_value(weights order by source_id nulls first, row) as weights
    from delivered_models
    group by model
),

final as (
    select
        cast(seen.model as model_enum) as model,
        coalesce(named.name, cast(seen.model as varchar)) as name,
        named.maker,
        named.family,
        named.weights
    from seen
    left join named on cast(seen.model as varchar) = named.model
)

select * from final order by model
