-- Grain: one row per kind of thing that the database counts.
select 'models' as what, count(*) as rows from models
union all
select 'judges', count(*) from judges
union all
select 'variants', count(distinct variant) from questions
union all
select 'questions', count(distinct question_id) from questions
union all
select 'checks', count(*) from checks
union all
select 'answers', count(*) from answers
union all
select 'verdicts', count(verdict) from verdicts
union all
select 'ungraded checks', count(*) - count(verdict) from verdicts
