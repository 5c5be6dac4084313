-- Grain: one row per delivered verdict and variant, by numbers. `key` orders and names the verdict; a row without one cannot
-- be used, and `fault` names the field that keeps it out.
with numbered as (
    select
        staged.*,
        models.model_no,
        judges.judge_no,
        checks.check_no,
        (cast(models.model_no as bigint) * judges.judges + judges.judge_no) * checks.checks + checks.check_no as answer_key,
        staged.replicate between 0 and 65535 as has_replicate
    from stg_verdicts as staged
    left join (select model, row_number() over (order by model) as model_no from models) as models
        on staged.model = models.model
    left join
        (select judge, row_number() over (order by judge) as judge_no, count(*) over () + 1 as judges from judges) as judges
        on staged.judge = judges.judge
    left join (select *, count(*) over () + 1 as checks from check_numbers) as checks
        on
            staged.variant = checks.variant
            and staged.question_id = checks.question_id
            and staged.check_id = checks.check_id
),

judged as (
    select
        *,
        case
            when model_no is null then 'model'
            when judge_no is null then 'judge'
            when variant is null then 'variant'
            when coalesce(question_id, '') = '' then 'question_id'
            when coalesce(check_id, '') = '' then 'check_id'
            when not coalesce(has_replicate, false) then 'replicate'
            when check_no is null then 'extra'
        end as fault
    from numbered
),

final as (
    select
        case when fault is null then answer_key * 65536 + replicate end as key,
        model_no,
        judge_no,
        check_no,
        replicate,
        verdict,
        ungraded_reason,
        rationale,
        judged_at,
        extra,
        source_id,
        row,
        fault,
        variant,
        case fault when 'variant' then given_variant when 'replicate' then given_replicate when 'extra' then check_id end
            as fault_value,
        case when fault = 'extra' then question_id end as fault_question,
        case when ungraded_reason is not null then given_verdict end as given_verdict,
        case when judged_at is null then given_time end as given_time
    from judged
)

select * from final
