-- Grain: one row per set of names that differ only in case, blanks or the encoding of letters; they are kept apart.
with names as (
    select 'model' as kind, '' as within, cast(model as varchar) as name from models
    union all
    select 'judge', '', cast(judge as varchar) from judges
    union all
    select distinct 'question', '', cast(question_id as varchar) from questions
    union all
    select distinct 'check', cast(question_id as varchar), cast(check_id as varchar) from checks
    union all
    select distinct 'domain', '', domain from questions where domain is not null
),

folded as (
    select *, lower(nfc_normalize(regexp_replace(name, '[\s\p{Z}\p{Cf}]+', '', 'g'))) as folded from names
)

select kind, within, list(name order by name) as names
from folded
group by kind, within, folded
having count(*) > 1
order by kind, within, names
