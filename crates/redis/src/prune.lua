-- Removes conversations without data from the indices.
--
-- KEYS: ids, used, then of each conversation head, messages, history
-- ARGV: the ids
local ids, used = KEYS[1], KEYS[2]
for i, id in ipairs(ARGV) do
  local at = 3 * (i - 1) + 3
  if redis.call('EXISTS', KEYS[at], KEYS[at + 1], KEYS[at + 2]) == 0 then
    redis.call('ZREM', ids, id)
    redis.call('ZREM', used, id)
  end
end
return 0
