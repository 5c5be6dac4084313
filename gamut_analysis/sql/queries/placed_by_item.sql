-- Grain: one row per check of one variant, with its tier, its role and the tier of the item that it was made from.
-- Where items were not delivered, an item has the tier of its checks that no rule sets one tier lower.
with told as (
    select
        question_id, item_id,
        min(tier) filter (
            where role in ('fact', 'list_item', 'baseline', 'step', 'sequence', 'relationship')
        ) as item_tier
    from checks
    where variant = $variant
    group by question_id, item_id
),

final as (
    select
        checks.question_id, checks.check_id, checks.tier, checks.role,
        coalesce(
            items.tier, told.item_tier,
            case cast(checks.tier as varchar)
                when 'context' then cast('valuable' as tier_enum) else cast('answer_critical' as tier_enum)
            end
        ) as item_tier
    from checks
    left join told on checks.question_id = told.question_id and checks.item_id = told.item_id
    left join items on checks.question_id = items.question_id and checks.item_id = items.item_id
    where checks.variant = $variant
)

select * from final
