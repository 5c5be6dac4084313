-- Grain: one row per check of one variant that the text-only rubric has too, with its tier.
with final as (
    select
        shown.question_id, shown.check_id, shown.tier,
        cast(null as role_enum) as role,
        cast(null as tier_enum) as item_tier
    from checks as shown
    semi join checks as told
        on
            told.variant = 'text_only'
            and shown.question_id = told.question_id
            and shown.tier = told.tier
            -- Ids that count through a rubric shift where a check is left out, so the text decides where there is one.
            and coalesce(shown.text, shown.check_id) = coalesce(told.text, told.check_id)
    where shown.variant = $variant
)

select * from final
