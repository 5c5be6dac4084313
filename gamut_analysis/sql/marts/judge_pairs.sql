-- Grain: one row per model, variant, question and ordered pair of judges; n_ab counts the checks on which the first
-- judge gave verdict a and the second verdict b (0 meets, 1 partially_meets, 2 missing, 3 contradicts). Gradings are
-- paired by their number, so that each counts once; those of one judge that the other has no equal of are left out.
with paired as (
    select
        a.model, a.variant, a.question_id, a.judge as judge_a, b.judge as judge_b,
        enum_code(a.verdict) as code_a,
        enum_code(b.verdict) as code_b
    from verdicts as a
    inner join verdicts as b
        on
            a.model = b.model
            and a.variant = b.variant
            and a.question_id = b.question_id
            and a.check_id = b.check_id
            and a.replicate = b.replicate
            and a.judge < b.judge
    where a.verdict is not null and b.verdict is not null
),

one_way as (
    select
        model, variant, question_id, judge_a, judge_b,
        cast(count(*) filter (where code_a = 0 and code_b = 0) as integer) as n_00,
        cast(count(*) filter (where code_a = 0 and code_b = 1) as integer) as n_01,
        cast(count(*) filter (where code_a = 0 and code_b = 2) as integer) as n_02,
        cast(count(*) filter (where code_a = 0 and code_b = 3) as integer) as n_03,
        cast(count(*) filter (where code_a = 1 and code_b = 0) as integer) as n_10,
        cast(count(*) filter (where code_a = 1 and code_b = 1) as integer) as n_11,
        cast(count(*) filter (where code_a = 1 and code_b = 2) as integer) as n_12,
        cast(count(*) filter (where code_a = 1 and code_b = 3) as integer) as n_13,
        cast(count(*) filter (where code_a = 2 and code_b = 0) as integer) as n_20,
        cast(count(*) filter (where code_a = 2 and code_b = 1) as integer) as n_21,
        cast(count(*) filter (where code_a = 2 and code_b = 2) as integer) as n_22,
        cast(count(*) filter (where code_a = 2 and code_b = 3) as integer) as n_23,
        cast(count(*) filter (where code_a = 3 and code_b = 0) as integer) as n_30,
        cast(count(*) filter (where code_a = 3 and code_b = 1) as integer) as n_31,
        cast(count(*) filter (where code_a = 3 and code_b = 2) as integer) as n_32,
        cast(count(*) filter (where code_a = 3 and code_b = 3) as integer) as n_33
    from paired
    group by model, variant, question_id, judge_a, judge_b
),

final as (
    select * from one_way
    union all
    select
        model, variant, question_id, judge_b, judge_a,
        n_00, n_10, n_20, n_30, n_01, n_11, n_21, n_31,
        n_02, n_12, n_22, n_32, n_03, n_13, n_23, n_33
    from one_way
)

select * from final order by model, variant, question_id, judge_a, judge_b
