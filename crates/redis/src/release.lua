-- Releases a lease, if the token holds it.
--
-- KEYS: lease
-- ARGV: token
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0
