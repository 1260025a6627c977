-- Makes keys live as long as the store's time to live, in ms, or for ever if it is ''.
local function set_time_to_live(keys, ttl)
  if ttl == '' then
    for _, key in ipairs(keys) do redis.call('PERSIST', key) end
    return
  end
  local time = redis.call('TIME')
  local ends = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ttl)
  ends = string.format('%.0f', ends)
  for _, key in ipairs(keys) do redis.call('PEXPIREAT', key, ends) end
end

