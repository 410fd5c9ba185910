--[[
Decides requests: a request is charged only if every limit allows it.

KEYS, ARGV  as in counter.lua; after the number of requests: the cost, the rules of the limits that block, a random number.
            A single request has as [1] the digits: the parameters of the limits, the rules, a random number, the cost if it is not 1;
            and as [2] the clock, if the caller passes one
Returns for each request the value of each counter or, if it is denied, the clock, then each value, false for an absent counter; a
        charge also returns how many thresholds it reached, for each limit that notifies, and with `upTo` the charged units
SCRIPTS.md explains the directives (--- @...) and the names in capitals.
]]

--- @section single
--- @include functions
local digits = ARGV[1]
--- @include moment
--- @code numbers
local cost = 1
if #digits > COST_AT then
  --- @code cost
end
--- @include call
return answer

--- @section batch
-- Each request sees the effect of the earlier ones. A key is written once, at the end.
--- @include functions
--- @include moment
local values, ttls = {}, {}
--- @include calls
for key, ttl in pairs(ttls) do
  call("SET", key, values[key], "PX", ttl)
  values[key] = nil
end
for key, value in pairs(values) do
  call("SETRANGE", key, "0", value)
end
return reply

--- @section answer
--- @counters advance
--- @include decision

--- @section answer-up-to
-- Charges as many units as every limit has left: from 1 to the cost of the call, which the next request of the run needs unchanged.
local cost = cost
--- @counters advance
--- @limits reduce
cost = math.max(1, cost)
--- @include decision

--- @section decision
local isAllowed
if not isBlocked and ALLOWS then
  isAllowed = true
  --- @limits charge
else
  --- @limits report
  --- @counters keep
  --- @counters block
end
--- @counters save-decision
answer = isAllowed and CHARGED or { now, REPORTED }

--- @section keep
value = bytes

--- @section save-decision
-- A debt may take longer to drain than the key lives, if the refill was larger when it was spent. Then a denial extends the key's
-- TTL, too.
if isAllowed or isAhead or bytes and (OUTLIVES) then
  --- @include save
end

--- @section read-late
bytes = values[key]
if bytes == nil then
  bytes = tryCall("GET", key)
end

--- @section write-late
values[key] = value
if ttl then
  ttls[key] = ttl
end
