-- Grain: one row per model, judge, variant, question and replicate: the last grading of an answer by a judge, and what
-- it took. Of several without times the first one stands; `superseded` counts earlier ones, which are not counted else.
with counted as (
    select *, count(distinct judged_at) over (partition by model, judge, variant, question_id, replicate) as instants
    from stg_gradings
    where fault is null
),

final as (
    select distinct on (model, judge, variant, question_id, replicate)
        model, judge, variant, question_id, replicate, prompt, prompt_hash, checks_per_call, calls, input_tokens,
        output_tokens, cost_usd, seconds, run_status, judged_at,
        cast(greatest(instants - 1, 0) as integer) as superseded, extra, source_id, row
    from counted
    order by model, judge, variant, question_id, replicate, judged_at desc nulls last, source_id, row
)

select * from final order by model, judge, variant, question_id, replicate
