-- Short lists of what is not merged into the text indexes yet: every search reads them from end to end. With the default of 4 MB,
-- 6,000 new revisions made recall 2.9 times slower (p95 34 ms, then 98 ms) until the next vacuum. Writing costs 75 % more processor
-- time for each revision (0.1 ms, then 0.18 ms) and 30 % more for each chunk, which the index lane spends.
set local role memoranda_owner;
alter index ledger.revision_lexeme_search set (fastupdate = off);
alter index evidence.chunk_lexeme_search set (gin_pending_list_limit = 256);
