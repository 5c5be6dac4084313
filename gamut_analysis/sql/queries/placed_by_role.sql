-- Grain: one row per check of one variant, with its tier and role.
with final as (
    select question_id, check_id, tier, role, cast(null as tier_enum) as item_tier
    from checks
    where variant = $variant
)

select * from final
