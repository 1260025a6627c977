-- Releases a lease, if the token holds it.
--
-- KEYS: lease
-- ARGV: token
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, 16) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0
