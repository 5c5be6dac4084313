-- Grain: one row per model, variant, question and ordered pair of judges; n_ab counts the checks on which the first judge
-- gave verdict a and the second verdict b (0 meets, 1 partially_meets, 2 missing, 3 contradicts).
with one_way as (
    select
        a.model_no, checks.question_no, a.judge_no as first_no, b.judge_no as second_no,
        cast(count(*) filter (where a.verdict = 'meets' and b.verdict = 'meets') as integer) as n_00,
        cast(count(*) filter (where a.verdict = 'meets' and b.verdict = 'partially_meets') as integer) as n_01,
        cast(count(*) filter (where a.verdict = 'meets' and b.verdict = 'missing') as integer) as n_02,
        cast(count(*) filter (where a.verdict = 'meets' and b.verdict = 'contradicts') as integer) as n_03,
        cast(count(*) filter (where a.verdict = 'partially_meets' and b.verdict = 'meets') as integer) as n_10,
        cast(count(*) filter (where a.verdict = 'partially_meets' and b.verdict = 'partially_meets') as integer) as n_11,
        cast(count(*) filter (where a.verdict = 'partially_meets' and b.verdict = 'missing') as integer) as n_12,
        cast(count(*) filter (where a.verdict = 'partially_meets' and b.verdict = 'contradicts') as integer) as n_13,
        cast(count(*) filter (where a.verdict = 'missing' and b.verdict = 'meets') as integer) as n_20,
        cast(count(*) filter (where a.verdict = 'missing' and b.verdict = 'partially_meets') as integer) as n_21,
        cast(count(*) filter (where a.verdict = 'missing' and b.verdict = 'missing') as integer) as n_22,
        cast(count(*) filter (where a.verdict = 'missing' and b.verdict = 'contradicts') as integer) as n_23,
        cast(count(*) filter (where a.verdict = 'contradicts' and b.verdict = 'meets') as integer) as n_30,
        cast(count(*) filter (where a.verdict = 'contradicts' and b.verdict = 'partially_meets') as integer) as n_31,
        cast(count(*) filter (where a.verdict = 'contradicts' and b.verdict = 'missing') as integer) as n_32,
        cast(count(*) filter (where a.verdict = 'contradicts' and b.verdict = 'contradicts') as integer) as n_33
    from resolved as a
    inner join resolved as b
        on a.model_no = b.model_no and a.check_no = b.check_no and a.replicate = b.replicate and a.judge_no < b.judge_no
    inner join check_numbers as checks on a.check_no = checks.check_no
    where a.verdict is not null and b.verdict is not null
    group by a.model_no, checks.question_no, a.judge_no, b.judge_no
),

both_ways as (
    select
        model_no, question_no, first_no, second_no,
        n_00, n_01, n_02, n_03, n_10, n_11, n_12, n_13, 
        n_20, n_21, n_22, n_23, n_30, n_31, n_32, n_33
    from one_way
    union all
    select
        model_no, question_no, second_no, first_no,
        n_00, n_10, n_20, n_30, n_01, n_11, n_21, n_31, 
        n_02, n_12, n_22, n_32, n_03, n_13, n_23, n_33
    from one_way
),

final as (
    select
        models.model, questions.variant, questions.question_id, a.judge as judge_a, b.judge as judge_b,
        both_ways.* exclude (model_no, question_no, first_no, second_no)
    from both_ways
    inner join (select model, row_number() over (order by model) as model_no from models) as models
        on both_ways.model_no = models.model_no
    inner join (select judge, row_number() over (order by judge) as judge_no from judges) as a
        on both_ways.first_no = a.judge_no
    inner join (select judge, row_number() over (order by judge) as judge_no from judges) as b
        on both_ways.second_no = b.judge_no
    inner join (select distinct question_no, variant, question_id from check_numbers) as questions
        on both_ways.question_no = questions.question_no
)

select * from final order by model, variant, question_id, judge_a, judge_b
