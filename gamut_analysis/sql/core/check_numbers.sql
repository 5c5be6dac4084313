-- Grain: one row per check, with numbers in place of its keys; everything heavy runs on these numbers.
with numbered as (
    select
        variant, question_id, check_id, tier,
        row_number() over (order by variant, question_id, tier, position nulls last, check_id) as check_no
    from checks
),

final as (
    select
        variant, question_id, check_id, tier,
        cast(check_no as integer) as check_no,
        cast(dense_rank() over (order by variant, question_id) as integer) as question_no
    from numbered
)

select * from final order by check_no
