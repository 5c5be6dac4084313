-- Grain: one row per variant and question that has checks: its checks by tier and role, its items by type.
with final as (
    select
        question_id, variant,
        count(*) as checks,
        count(*) filter (where tier = 'answer_critical') as answer_critical_checks,
        count(*) filter (where tier = 'valuable') as valuable_checks,
        count(*) filter (where tier = 'context') as context_checks,
        count(*) filter (where role = 'fact') as fact_checks,
        count(*) filter (where role = 'list_item') as list_item_checks,
        count(*) filter (where role = 'baseline') as baseline_checks,
        count(*) filter (where role = 'bonus') as bonus_checks,
        count(*) filter (where role = 'threshold') as threshold_checks,
        count(*) filter (where role = 'step') as step_checks,
        count(*) filter (where role = 'optional_step') as optional_step_checks,
        count(*) filter (where role = 'sequence') as sequence_checks,
        count(*) filter (where role = 'full_sequence') as full_sequence_checks,
        count(*) filter (where role = 'relationship') as relationship_checks,
        count(*) filter (where role = 'insight') as insight_checks,
        count(distinct item_id) filter (where item_type = 'simple_knowledge') as simple_knowledge_items,
        count(distinct item_id) filter (where item_type = 'strict_list') as strict_list_items,
        count(distinct item_id) filter (where item_type = 'flexible_list') as flexible_list_items,
        count(distinct item_id) filter (where item_type = 'process') as process_items,
        count(distinct item_id) filter (where item_type = 'relationship') as relationship_items,
        count(*) filter (where is_identification) as identification_checks
    from checks
    group by question_id, variant
)

select * from final order by variant, question_id
