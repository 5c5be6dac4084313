-- Grain: one row per kind of delivered verdict that does not stand beside another one with its key.
with by_key as (
    select kind, count(*) as verdicts
    from duplicates
    group by kind, model, judge, variant, question_id, check_id, replicate
),

final as (
    select kind, cast(sum(verdicts) as bigint) as verdicts, count(*) as keys from by_key group by kind
)

select * from final order by kind
