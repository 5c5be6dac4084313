-- Grain: one row per delivered check and variant; a check that names no variant stands in every one.
with final as (
    select
        coalesce(variants.variant, every.variant) as variant,
        try_cast(delivered.question_id as question_enum) as question_id,
        try_cast(delivered.check_id as check_enum) as check_id,
        tiers.tier,
        delivered.text,
        roles.role,
        coalesce(cast(delivered.role_inferred as boolean), false) as role_inferred,
        delivered.item_id,
        types.item_type,
        cast(delivered.item_position as integer) as item_position,
        cast(delivered.position as integer) as position,
        cast(delivered.needed as integer) as needed,
        cast(delivered.members as varchar[]) as members,
        coalesce(cast(delivered.is_identification as boolean), false) as is_identification,
        delivered.source_id,
        delivered.row,
        delivered.tier as given_tier,
        delivered.variant as given_variant,
        delivered.role as given_role,
        delivered.item_type as given_item_type,
        case
            when delivered.question_id is null then 'question_id'
            when delivered.check_id is null then 'check_id'
            when delivered.variant is not null and variants.variant is null then 'variant'
            when tiers.tier is null then 'tier'
        end as fault
    from delivered_checks as delivered
    left join variant_labels as variants on delivered.variant = variants.given
    left join stg_variants as every on delivered.variant is null
    left join tier_labels as tiers on delivered.tier = tiers.given
    left join role_labels as roles on delivered.role = roles.given
    left join item_type_labels as types on delivered.item_type = types.given
)

select * from final
