-- Grain: one row per file and table that it was read for. Rows read are kept or rejected: a rejected one has an entry
-- in rejects; repeats are kept rows.
with rejected as (
    select source_id, count(distinct row) as rows_rejected from faults group by source_id
),

final as (
    select
        sources.source_id,
        sources.file,
        sources.table_name,
        sources.sha256,
        sources.reader,
        sources.columns,
        cast(sources.modified_at as timestamptz) as modified_at,
        sources.rows_read,
        sources.rows_read - coalesce(rejected.rows_rejected, 0) as rows_kept,
        coalesce(rejected.rows_rejected, 0) as rows_rejected,
        sources.simulated
    from delivered_sources as sources
    left join rejected on sources.source_id = rejected.source_id
)

select * from final order by source_id
