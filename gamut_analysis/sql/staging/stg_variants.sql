-- Grain: one row per variant that the data speaks of; data that names none is multimodal.
with named as (
    select variant from delivered_verdicts
    union
    select variant from delivered_answers
    union
    select variant from delivered_questions
    union
    select variant from delivered_checks
),

known as (
    select distinct labels.variant
    from named
    inner join variant_labels as labels on named.variant = labels.given
),

final as (
    select variant from known
    union all
    select cast('multimodal' as variant_enum) as variant
    where not exists (select 1 from known)
)

select * from final
