-- Grain: one row per delivered verdict on a check that the rubric does not have.
with final as (
    select
        models.model, judges.judge, attempts.variant, attempts.fault_question as question_id,
        attempts.fault_value as check_id, attempts.source_id, attempts.row
    from attempts
    inner join (select model, row_number() over (order by model) as model_no from models) as models
        on attempts.model_no = models.model_no
    inner join (select judge, row_number() over (order by judge) as judge_no from judges) as judges
        on attempts.judge_no = judges.judge_no
    where attempts.fault = 'extra'
)

select * from final
