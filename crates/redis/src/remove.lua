-- Deletes conversations with all their data, and returns their number.
--
-- KEYS: ids, used, then of each conversation head, messages, history, lease
-- ARGV: '' or a time in ms (deletes only conversations that were last changed before it), then the ids
local ids, used = KEYS[1], KEYS[2]
local removed = 0
redis.call('ZCARD', ids)
for i = 2, #ARGV do
  local id, at = ARGV[i], 4 * (i - 2) + 3
  local changed = redis.call('ZSCORE', used, id)
  if ARGV[1] == '' or (changed and tonumber(changed) < tonumber(ARGV[1])) then
    removed = removed + redis.call('EXISTS', KEYS[at])
    redis.call('UNLINK', KEYS[at], KEYS[at + 1], KEYS[at + 2], KEYS[at + 3])
    redis.call('ZREM', ids, id)
    redis.call('ZREM', used, id)
  end
end
return removed
