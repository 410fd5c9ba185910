--[[
Decides requests: all limits of a request allow, or nothing of it is charged.

KEYS  for each request, of each counter: its own, then that of each sliding log in it
ARGV  of a lone request: [1] as digits: the numbers of the limits, a random number, the cost if it is not 1 [2] the clock, if one
      is given
      of a batch: [1] the clock, or nothing; then for each run of requests that are alike, as digits: the numbers of the limits,
      how many requests they are, the cost, a random number
Returns for each request the value of each counter or, when it is denied, the clock, then each value, false for an absent counter;
-1 when a key holds something else
]]

--- @section lone
local call = redis.call
--- @include moment
--- @code numbers
local cost = 1
if #DIGITS > COST_AT then
  --- @code cost
end
--- @include call
return answer

--- @section batch
-- Each request sees what the earlier ones did. A key is written once, at the end.
local call = redis.call
--- @include moment
local values, lifetimes = {}, {}
--- @include calls
for key, value in pairs(values) do
  local life = lifetimes[key]
  --- @include put
end
return reply

--- @section answer
--- @counters advance
local isAllowed = not isBlocked and ALLOWS
if isAllowed then
  --- @limits charge
else
  --- @limits report
  --- @counters block
end
--- @counters settle
answer = isAllowed and CHARGED or { now, REPORTED }

--- @section settle
value = bytes
-- A debt that takes longer to drain than the key lives, since its refill was larger when it was spent, is kept by a denial too.
if isAllowed or isAhead or bytes and (OUTLIVES) then
  --- @include renew
  --- @include keep
end

--- @section read-late
bytes = values[key]
if bytes == nil then
  bytes = redis.pcall("GET", key)
end

--- @section write-late
values[key] = value
if life then
  lifetimes[key] = life
end
