--[[
Reads a counter: one subject of one limiter in one dimension. Its key holds
  7 bytes  stamp: microseconds since the epoch at which the state was true
  4 bytes  generation: tells this life of the counter from others, so that a refund cannot reach into another one
  4 bytes  lives: the second since the epoch until which the key lives at least
  then each limit's state, in canonical order, and BLOCK bytes more where the counter is blocked
Whatever does not fit (another length, numbers out of range) is garbage and counts as absent.
]]
--- @limits reach
--- @read
if bytes and (#bytes == WIDTH or #bytes == WIDTH + BLOCK) then
  --- @unpack
  --- @limits open
  isKnown = ALL("sound")
elseif type(bytes) == "table" then
  if not string.find(bytes.err, "^WRONGTYPE") then
    call("GET", key) -- ends the script, in the server's own words
  end
  isWrongType = true
end
