-- Grain: one row per file and table that it was read for.
select file, table_name, reader, rows_read, rows_kept, rows_rejected, columns, modified_at, left(sha256, 12) as sha256
from sources
order by source_id
