-- Grain: one row per file and table that it was read for. Rows read are kept or rejected; repeats are kept rows.
with rejected as (
    select file, count(distinct row) as rows_rejected from rejects group by file
),

final as (
    select
        sources.source_id,
        sources.file,
        sources.table_name,
        sources.sha256,
        sources.reader,
        cast(sources.modified_at as timestamptz) as modified_at,
        sources.rows_read,
        sources.rows_read - coalesce(rejected.rows_rejected, 0) as rows_kept,
        coalesce(rejected.rows_rejected, 0) as rows_rejected,
        sources.simulated
    from delivered_sources as sources
    left join rejected on sources.file = rejected.file
)

select * from final order by source_id
