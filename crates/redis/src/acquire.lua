-- Acquires or extends a lease, unless another token holds it.
--
-- KEYS: lease
-- ARGV: token of 16 characters, duration in ms
--
-- The value is the token and the duration. If the time to live is above the duration, the server's clock was set
-- back, and the lease counts as expired.
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, 16) ~= ARGV[1] then
  local duration = tonumber(string.sub(held, 18))
  if not duration or redis.call('PTTL', KEYS[1]) <= duration then return 0 end
end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[2], 'PX', ARGV[2])
return 1
