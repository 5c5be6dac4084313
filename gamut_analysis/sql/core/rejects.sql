-- Grain: one row per delivered value or line that could not be used, with the file and the line where it stands.
with final as (
    select distinct
        sources.file, faults.row, faults.field, left(faults.value, 200) as value, faults.reason
    from faults
    inner join delivered_sources as sources on faults.source_id = sources.source_id
)

select * from final order by file, row, field, value, reason
