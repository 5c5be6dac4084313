-- Grain: one row per delivered check and variant. Where no checks are delivered, the verdicts tell which there are.
with delivered as (
    select
        question_id, variant, check_id, tier, text, role, role_inferred, item_id, item_type, position, needed, members,
        is_identification, source_id, row
    from delivered_checks
    union all
    select distinct on (question_id, variant, check_id, tier)
        question_id, variant, check_id, tier, text, null, null, null, null, null, null, null, null, source_id, row
    from delivered_verdicts
    where not exists (select 1 from delivered_checks)
    order by source_id, row
),

final as (
    select
        coalesce(labels.variant, variants.variant) as variant,
        trim(delivered.question_id) as question_id,
        trim(delivered.check_id) as check_id,
        tiers.tier,
        delivered.text,
        roles.role,
        coalesce(try_cast(delivered.role_inferred as boolean), false) as role_inferred,
        nullif(trim(delivered.item_id), '') as item_id,
        types.item_type,
        try_cast(delivered.position as integer) as position,
        try_cast(delivered.needed as integer) as needed,
        try_cast(delivered.members as varchar []) as members,
        coalesce(try_cast(delivered.is_identification as boolean), false) as is_identification,
        delivered.source_id,
        delivered.row,
        delivered.tier as given_tier,
        delivered.role as given_role,
        delivered.item_type as given_item_type,
        case
            when nullif(trim(delivered.question_id), '') is null then 'question_id'
            when nullif(trim(delivered.check_id), '') is null then 'check_id'
            when nullif(trim(delivered.variant), '') is not null and labels.variant is null then 'variant'
            when tiers.tier is null then 'tier'
        end as fault
    from delivered
    left join variant_labels as labels on delivered.variant = labels.given
    left join stg_variants as variants on nullif(trim(delivered.variant), '') is null
    left join tier_labels as tiers on delivered.tier = tiers.given
    left join role_labels as roles on delivered.role = roles.given
    left join item_type_labels as types on delivered.item_type = types.given
)

select * from final
