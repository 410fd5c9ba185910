--[[
Reads `limits` from the next argument, once a call: the description of a unit's limits. Each limit is four words: its
algorithm and that one's parameters, 0 for what it has no use for.
]]
argumentAt = argumentAt + 1
local description = ARGV[argumentAt]
local limits = described[description]
if not limits then
  limits = { keys = 1 }
  local format, at = ">I7I6", STATES
  for name, first, second, third in string.gmatch(description, "(%S+) (%S+) (%S+) (%S+)") do
    local limit -- its quota, and what the driver has to know of its state
    --- @include "../algorithms/token-bucket"
    --- @include "../algorithms/fixed-window"
    --- @include "../algorithms/sliding-window"
    --- @include "../algorithms/sliding-log"
    limit.at, limit.algorithm = at, algorithms[name]
    limits[#limits + 1] = limit
    format, at = format .. limit.format, at + limit.numbers
  end
  limits.format, limits.width, limits.last = format, struct.size(format), at - 1
  described[description] = limits
end
