-- Grain: one row per judge.
with graded as (
    select judge, count(distinct model) as models, count(verdict) as verdicts, count(*) - count(verdict) as ungraded
    from verdicts
    group by judge
),

final as (
    select
        judges.judge, judges.name, judges.kind,
        coalesce(graded.models, 0) as models,
        coalesce(graded.verdicts, 0) as verdicts,
        coalesce(graded.ungraded, 0) as ungraded
    from judges
    left join graded on judges.judge = graded.judge
)

select * from final order by judge
