-- Grain: one row per variant, question and check: the binary rubric, in rubric order.
with final as (
    select distinct on (variant, question_id, check_id)
        question_id, variant, check_id, tier, role, role_inferred, item_id, item_type, item_position,
        position, needed, members, is_identification, text
    from stg_checks
    where fault is null
    order by variant, question_id, check_id, source_id, row
)

select * from final order by variant, question_id, tier, item_position nulls last, position nulls last, check_id
