-- Grain: one row per judge whose gradings were told of.
with final as (
    select
        judge,
        count(*) as gradings,
        string_agg(distinct prompt, ', ' order by prompt) as prompts,
        string_agg(distinct cast(checks_per_call as varchar), ', ' order by cast(checks_per_call as varchar))
            as checks_per_call,
        cast(sum(calls) as bigint) as calls,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens,
        round(sum(cost_usd), 4) as cost_usd,
        round(sum(seconds), 1) as seconds,
        count(*) filter (where run_status <> 'success') as unfinished,
        min(judged_at) as first_at,
        max(judged_at) as last_at
    from gradings
    group by judge
)

select * from final order by judge
