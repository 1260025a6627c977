-- Appends records to the journal of a conversation, or returns the reason why it was refused.
--
-- KEYS: head, messages, history, lease, journal, used, journals
-- ARGV: id, position before or '' for a new journal, position after, number of the last record, now in ms,
--       lease or '', time to live in ms or '', the records (number, text)
local head, messages, history, lease, journal, used, journals = unpack(KEYS)
local id, before, after, last, now, holder, ttl = unpack(ARGV, 1, 7)

-- Reads every key that it writes before the first write, as the commit.
local position = redis.call('HGET', journal, 'position') or ''
local held = redis.call('GET', lease)
redis.call('ZCARD', used)
redis.call('ZCARD', journals)

-- These records may already have been appended; the client decides from the last one.
if position ~= before then
  return {'refused', position, redis.call('HGET', journal, last) or ''}
end
if holder ~= '' and string.sub(held or '', 1, 16) ~= holder then return {'lease'} end
if position == '' and redis.call('EXISTS', journal) == 1 then return {'headless'} end
if #ARGV == 7 then return {'applied'} end

for i = 8, #ARGV, 2 do redis.call('HSET', journal, ARGV[i], ARGV[i + 1]) end
redis.call('HSET', journal, 'position', after, 'appended', now)
redis.call('ZADD', journals, 0, id)
redis.call('ZADD', used, now, id)

set_time_to_live({head, messages, history, journal}, ttl)
return {'applied'}
