--[[
Decides requests: all limits of a request allow, or nothing of it is charged.

KEYS, ARGV  as in counter.lua; behind the number of requests: the cost, the rules of the limits that block, a random number.
            A lone request has as [1] the digits: the numbers of the limits, the rules, a random number, the cost if it is not 1;
            as [2] the clock, if one is given
Returns for each request the value of each counter or, when it is denied, the clock, then each value, false for an absent counter;
        a charge also how many thresholds are told, for each limit that notifies
]]

--- @section single
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
-- Each request sees the effect of the earlier ones. A key is written once, at the end.
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
-- A debt may take longer to drain than the key lives, if the refill was larger when it was spent: then a denial extends the
-- key's life, too.
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
