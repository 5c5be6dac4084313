-- Grain: one row per question and item of its meta-rubric; empty where only compiled checks were delivered.
with final as (
    select distinct on (question_id, item_id)
        question_id, item_id, item_type, item_position, tier, description, is_identification, n_members, n_required,
        n_entities, baseline, cap, n_thresholds, has_insight, insight_tier, n_citations
    from stg_items
    where fault is null
    order by question_id, item_id, source_id, row
)

select * from final order by question_id, item_position nulls last, item_id
