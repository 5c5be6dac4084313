-- Grain: one row per delivered item of a meta-rubric.
with final as (
    select
        try_cast(delivered.question_id as question_enum) as question_id,
        delivered.item_id,
        types.item_type,
        cast(delivered.item_position as integer) as item_position,
        tiers.tier,
        delivered.description,
        coalesce(cast(delivered.is_identification as boolean), false) as is_identification,
        cast(delivered.n_members as integer) as n_members,
        cast(delivered.n_required as integer) as n_required,
        cast(delivered.n_entities as integer) as n_entities,
        cast(delivered.baseline as integer) as baseline,
        cast(delivered.cap as integer) as cap,
        cast(delivered.n_thresholds as integer) as n_thresholds,
        coalesce(cast(delivered.has_insight as boolean), false) as has_insight,
        insights.tier as insight_tier,
        cast(delivered.n_citations as integer) as n_citations,
        delivered.source_id,
        delivered.row,
        delivered.item_type as given_item_type,
        delivered.tier as given_tier,
        delivered.insight_tier as given_insight_tier,
        case
            when delivered.question_id is null then 'question_id'
            when delivered.item_id is null then 'item_id'
            when types.item_type is null then 'item_type'
            when tiers.tier is null then 'tier'
        end as fault
    from delivered_items as delivered
    left join item_type_labels as types on delivered.item_type = types.given
    left join tier_labels as tiers on delivered.tier = tiers.given
    left join tier_labels as insights on delivered.insight_tier = insights.given
)

select * from final
