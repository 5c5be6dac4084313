-- Grain: one row per file, field and reason for which values could not be used.
select file, field, reason, count(*) as values_rejected, min(row) as first_row, arg_min(value, row) as first_value
from rejects
group by file, field, reason
order by file, field, reason
