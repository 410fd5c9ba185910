--[[
Reads a counter: one subject of one limiter in one dimension. Its key holds
  7 bytes  stamp: microseconds since the epoch at which the state was true
  4 bytes  generation: tells this life of the counter from others, so that a refund cannot reach into another one
  4 bytes  lives: the second since the epoch until which the key lives at least
  then each limit's state, in canonical order, and BLOCK bytes more where the counter has a block: see read-blocked.lua
Whatever does not fit (another length, numbers out of range) is garbage and counts as absent: `bytes` is false then.
]]
--- @limits reach
--- @read
if bytes and #bytes == WIDTH then
  --- @unpack
  --- @limits open
  if not (ALL("sound")) then
    bytes = false
  end
elseif bytes then
  --- @include "read-blocked"
end
