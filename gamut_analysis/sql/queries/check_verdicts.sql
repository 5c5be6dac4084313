-- Grain: one row per judge, question, check and replicate, for one model and variant.
with final as (
    select
        verdicts.judge, verdicts.question_id, verdicts.check_id, verdicts.replicate, verdicts.verdict,
        verdicts.ungraded_reason, verdicts.rationale, checks.tier, checks.role, checks.item_id, checks.item_type,
        checks.text
    from verdicts
    inner join checks
        on
            verdicts.variant = checks.variant
            and verdicts.question_id = checks.question_id
            and verdicts.check_id = checks.check_id
    where verdicts.variant = $variant and verdicts.model = $model
)

select * from final order by judge, question_id, tier, check_id, replicate
