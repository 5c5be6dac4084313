-- Grain: one row per delivered item of a meta-rubric.
with final as (
    select
        trim(delivered.question_id) as question_id,
        trim(delivered.item_id) as item_id,
        types.item_type,
        tiers.tier,
        delivered.description,
        coalesce(try_cast(delivered.is_identification as boolean), false) as is_identification,
        try_cast(delivered.n_members as integer) as n_members,
        try_cast(delivered.n_required as integer) as n_required,
        try_cast(delivered.baseline as integer) as baseline,
        try_cast(delivered.cap as integer) as cap,
        try_cast(delivered.n_thresholds as integer) as n_thresholds,
        coalesce(try_cast(delivered.has_insight as boolean), false) as has_insight,
        insights.tier as insight_tier,
        try_cast(delivered.n_citations as integer) as n_citations,
        delivered.source_id,
        delivered.row,
        delivered.item_type as given_item_type,
        delivered.tier as given_tier,
        case
            when nullif(trim(delivered.question_id), '') is null then 'question_id'
            when nullif(trim(delivered.item_id), '') is null then 'item_id'
            when types.item_type is null then 'item_type'
            when tiers.tier is null then 'tier'
        end as fault
    from delivered_items as delivered
    left join item_type_labels as types on delivered.item_type = types.given
    left join tier_labels as tiers on delivered.tier = tiers.given
    left join tier_labels as insights on delivered.insight_tier = insights.given
)

select * from final
