-- Grain: one row: what the data is, what was assumed of it, and which versions built the database.
select
    name, title, benchmark, simulated, seed, note, licence, url, default_judge, assumptions, unused_files,
    gamut_analysis, duckdb
from delivered_dataset
