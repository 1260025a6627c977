-- Deletes conversations with all their data, and returns their number.
--
-- KEYS: ids, used, journals, then of each conversation head, messages, history, lease, journal
-- ARGV: '' or a time in ms (deletes only conversations that were last changed before it), then the ids
local ids, used, journals = unpack(KEYS, 1, 3)
local removed = 0
redis.call('ZCARD', ids)
redis.call('ZCARD', journals)
for i = 2, #ARGV do
  local id, at = ARGV[i], 5 * (i - 2) + 4
  local changed = redis.call('ZSCORE', used, id)
  if ARGV[1] == '' or (changed and tonumber(changed) < tonumber(ARGV[1])) then
    removed = removed + math.min(redis.call('EXISTS', KEYS[at], KEYS[at + 4]), 1)
    redis.call('UNLINK', unpack(KEYS, at, at + 4))
    redis.call('ZREM', ids, id)
    redis.call('ZREM', used, id)
    redis.call('ZREM', journals, id)
  end
end
return removed
