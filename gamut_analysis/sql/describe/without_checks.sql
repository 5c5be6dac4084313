-- Grain: one row per variant and question that no check asks about: it cannot be scored.
select questions.variant, questions.question_id, questions.question
from questions
anti join checks on questions.variant = checks.variant and questions.question_id = checks.question_id
order by questions.variant, questions.question_id
