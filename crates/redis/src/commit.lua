-- Makes one commit, or says why not.
--
-- KEYS: head, messages, history, lease, ids, used
-- ARGV: id, version before, version after, token, now in ms, lease or '', time to live in ms or '',
--       '1' to keep what is evicted, 'rank' or 'score', number of ranges,
--       the ranges (first, last), the rows (number, member)
local head, messages, history, lease, ids, used = unpack(KEYS)
local id, before, after, token, now, holder, ttl, keep, by, ranges = unpack(ARGV, 1, 10)

-- Every key is read before any is written: one of a foreign type ends the script here, and what a
-- script has written is not taken back.
local stored = redis.call('HMGET', head, 'version', 'messages', 'tokens')
local version, promised, tokens = stored[1] or '0', stored[2] or '0', stored[3] or ''
local count = redis.call('ZCARD', messages)
local evicted = redis.call('ZCARD', history)
local held = redis.call('GET', lease)
redis.call('ZCARD', ids)
redis.call('ZCARD', used)

if version ~= before then
  -- The answer to this very commit may have been lost.
  if string.find(tokens, token, 1, true) then return {'applied'} end
  return {'version', version}
end
if holder ~= '' and held ~= holder then return {'lease'} end
if version == '0' and count + evicted > 0 then return {'headless'} end
if promised ~= tostring(count) then return {'count', promised, tostring(count)} end
if redis.call('ZCOUNT', messages, '(' .. version, '+inf') > 0 then return {'newer', version} end

-- What is new goes first: a server without memory refuses that, but only as long as nothing was written.
local at = 11 + 2 * tonumber(ranges)
for i = at, #ARGV, 2 do redis.call('ZADD', messages, ARGV[i], ARGV[i + 1]) end
for i = 11, at - 1, 2 do
  local first, last = ARGV[i], ARGV[i + 1]
  -- Positions past the end must not reach what is new.
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
-- The last eight tokens, so that a commit finds its own although others have followed.
tokens = string.sub(token .. ' ' .. tokens, 1, 8 * 17 - 1)
redis.call('HSET', head, 'version', after, 'messages', count, 'used', now, 'tokens', tokens)
if count + evicted > 0 then redis.call('ZADD', ids, 0, id) else redis.call('ZREM', ids, id) end
redis.call('ZADD', used, now, id)

if ttl == '' then
  for _, key in ipairs({head, messages, history}) do redis.call('PERSIST', key) end
else
  local time = redis.call('TIME')
  local ends = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ttl)
  ends = string.format('%.0f', ends)
  for _, key in ipairs({head, messages, history}) do redis.call('PEXPIREAT', key, ends) end
end
if holder ~= '' then redis.call('DEL', lease) end
return {'applied'}
