-- Grain: one row per variant and question that has a text: its length and its opening, in lower case.
with texts as (
    select question_id, variant, trim(question) as question
    from questions
    where nullif(trim(question), '') is not null
),

split as (
    select
        question_id, variant, question,
        list_filter(
            string_split_regex(lower(question), '[^\p{L}\p{N}''’-]+'), lambda word: regexp_matches(word, '[\p{L}\p{N}]')
        ) as words
    from texts
),

final as (
    select
        question_id,
        variant,
        len(words) as words,
        length(question) as characters,
        words[1] as first_word,
        array_to_string(words[1:2], ' ') as first_two_words,
        array_to_string(words[1:3], ' ') as first_three_words,
        question like '%?%' as has_question_mark,
        coalesce(
            replace(words[1], '’', '''') in (
                'what', 'what''s', 'which', 'who', 'who''s', 'whom', 'whose', 'when', 'where', 'where''s',
                'why', 'how', 'how''s', 'is', 'isn''t', 'are', 'aren''t', 'was', 'were', 'am', 'do',
                'don''t', 'does', 'doesn''t', 'did', 'didn''t', 'can', 'can''t', 'could', 'couldn''t',
                'will', 'won''t', 'would', 'wouldn''t', 'shall', 'should', 'shouldn''t', 'may', 'might',
                'must', 'has', 'have', 'had'
            ),
            false
        ) as opens_with_interrogative
    from split
)

select * from final order by variant, question_id
