-- Applies one commit, or returns the reason why it was refused.
--
-- KEYS: head, messages, history, lease, journal, ids, used, journals
-- ARGV: id, version before, version after, entry of the log of commits, length of a full log, now in ms,
--       lease or '', time to live in ms or '', position of the journal to close or '', '1' to keep evicted rows,
--       'rank' or 'score', number of ranges, the ranges (first, last), the rows (number, member)
local head, messages, history, lease, journal, ids, used, journals = unpack(KEYS)
local id, before, after, entry, full, now, holder, ttl, closed, keep, by, ranges = unpack(ARGV, 1, 12)

-- Reads every key before the first write: a key of the wrong type ends the script here, and writes of
-- a script are not rolled back.
local stored = redis.call('HMGET', head, 'version', 'messages', 'commits')
local version, promised, commits = stored[1] or '0', stored[2] or '0', stored[3] or ''
local count = redis.call('ZCARD', messages)
local evicted = redis.call('ZCARD', history)
local held = redis.call('GET', lease)
local position = redis.call('HGET', journal, 'position')
redis.call('ZCARD', ids)
redis.call('ZCARD', used)
redis.call('ZCARD', journals)

-- An entry ends with a hash of the request. This commit, or another one of the same request, may already
-- have been applied; the client decides from the log.
local request = string.sub(entry, -8)
if version ~= before or string.find(commits, request, 1, true) then
  return {'refused', version, commits}
end
if holder ~= '' and string.sub(held or '', 1, 16) ~= holder then return {'lease'} end
if closed ~= '' and position ~= closed then return {'journal'} end
if version == '0' and count + evicted > 0 then return {'headless'} end
if promised ~= tostring(count) then return {'count', promised, tostring(count)} end
if redis.call('ZCOUNT', messages, '(' .. version, '+inf') > 0 then return {'newer', version} end

-- New rows are written first: a server that is out of memory rejects a write only before the first one.
local at = 13 + 2 * tonumber(ranges)
for i = at, #ARGV, 2 do redis.call('ZADD', messages, ARGV[i], ARGV[i + 1]) end
for i = 13, at - 1, 2 do
  local first, last = ARGV[i], ARGV[i + 1]
  -- Positions past the end must not reach the new rows.
  if by == 'rank' then last = tostring(math.min(tonumber(last), count - 1)) end
  if by ~= 'rank' or tonumber(first) <= tonumber(last) then
    if keep == '1' then
      local range = by == 'rank' and 'ZRANGE' or 'ZRANGEBYSCORE'
      local rows = redis.call(range, messages, first, last, 'WITHSCORES')
      for row = 1, #rows, 2 do redis.call('ZADD', history, rows[row + 1], rows[row]) end
    end
    local remove = by == 'rank' and 'ZREMRANGEBYRANK' or 'ZREMRANGEBYSCORE'
    redis.call(remove, messages, first, last)
  end
end

count = redis.call('ZCARD', messages)
evicted = redis.call('ZCARD', history)
-- The newest entry is the first one.
commits = string.sub(entry .. commits, 1, tonumber(full))
redis.call('HSET', head, 'version', after, 'messages', count, 'used', now, 'commits', commits)
if count + evicted > 0 then redis.call('ZADD', ids, 0, id) else redis.call('ZREM', ids, id) end
redis.call('ZADD', used, now, id)
if closed ~= '' then
  redis.call('UNLINK', journal)
  redis.call('ZREM', journals, id)
end

set_time_to_live({head, messages, history, journal}, ttl)
if holder ~= '' then redis.call('DEL', lease) end
return {'applied'}
