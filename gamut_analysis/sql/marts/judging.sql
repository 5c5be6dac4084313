-- Grain: one row per model, judge and variant: how its answers were graded, and what that took. A sum is over the
-- gradings that tell; null where none does.
with final as (
    select
        model,
        judge,
        variant,
        count(*) as gradings,
        list(distinct prompt order by prompt) filter (where prompt is not null) as prompts,
        list(distinct prompt_hash order by prompt_hash) filter (where prompt_hash is not null) as prompt_hashes,
        list(distinct checks_per_call order by checks_per_call) filter (where checks_per_call is not null)
            as checks_per_call,
        cast(sum(calls) as bigint) as calls,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens,
        sum(cost_usd) as cost_usd,
        sum(seconds) as seconds,
        count(coalesce(input_tokens, output_tokens)) as with_tokens,
        count(cost_usd) as with_cost,
        count(*) filter (where run_status = 'success') as runs_finished,
        count(*) filter (where run_status = 'cancelled') as runs_cancelled,
        count(*) filter (where run_status is not null and run_status not in ('success', 'cancelled')) as runs_failed,
        cast(sum(superseded) as bigint) as superseded,
        min(judged_at) as first_at,
        max(judged_at) as last_at
    from gradings
    group by model, judge, variant
)

select * from final order by model, judge, variant
