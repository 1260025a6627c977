-- Deletes the journal of a conversation if it has this position. Returns whether it had.
--
-- KEYS: head, journal, used, journals
-- ARGV: id, position
local head, journal, used, journals = unpack(KEYS)
redis.call('ZCARD', used)
redis.call('ZCARD', journals)
if redis.call('HGET', journal, 'position') ~= ARGV[2] then return 0 end
redis.call('UNLINK', journal)
redis.call('ZREM', journals, ARGV[1])
if redis.call('EXISTS', head) == 0 then redis.call('ZREM', used, ARGV[1]) end
return 1
