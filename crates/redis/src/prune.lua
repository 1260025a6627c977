-- Removes conversations without data, and journals that are not open, from the indices.
--
-- KEYS: ids, used, journals, then of each conversation head, messages, history, journal
-- ARGV: the ids
local ids, used, journals = unpack(KEYS, 1, 3)
for i, id in ipairs(ARGV) do
  local at = 4 * (i - 1) + 4
  local rest = redis.call('EXISTS', KEYS[at], KEYS[at + 1], KEYS[at + 2])
  local journal = redis.call('EXISTS', KEYS[at + 3])
  if rest == 0 then redis.call('ZREM', ids, id) end
  if journal == 0 then redis.call('ZREM', journals, id) end
  if rest + journal == 0 then redis.call('ZREM', used, id) end
end
return 0
