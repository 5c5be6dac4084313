-- Grain: one row per judge and kind of reason for which checks have no verdict.
with kinds as (
    select judge, split_part(ungraded_reason, ': ', 1) as reason, ungraded_reason
    from verdicts
    where verdict is null
)

select judge, reason, count(*) as checks, min(ungraded_reason) as example
from kinds
group by judge, reason
order by judge, reason
