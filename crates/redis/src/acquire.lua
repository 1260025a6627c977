-- Acquires or extends a lease, unless another token holds it.
--
-- KEYS: lease
-- ARGV: token, duration in ms
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
