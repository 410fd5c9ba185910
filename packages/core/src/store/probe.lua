--[[
Finds out whether a server can take decisions: it runs scripts, reads its clock and writes.

KEYS  for each probe, a key that nobody else uses
ARGV  [1] the clock in microseconds, empty for the server's own
      [2] a random number below 2^48; neither matters here
Returns for each probe the array of one integer 1
]]
local replies = {}
redis.call("TIME")
for k = 1, #KEYS do
  redis.call("SET", KEYS[k], "", "PX", 1000)
  replies[k] = { 1 }
end
return replies
