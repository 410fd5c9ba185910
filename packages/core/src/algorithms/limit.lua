--[[
Sections of limits whose algorithm has none of its own under that name; and, where the cost is by name, what stands around the
algorithm's: a limit that is left out allows all, and is neither charged nor given anything back.
]]

--- @section allows
used + cost <= limit

--- @section charge
used = used + cost

--- @section overcharge
local units, held = cost, used
--- @include hold
used = used + units

--- @section refund
-- Only into the window that was charged.
if since <= AGE and used > 0 then
  isGiven, used = true, math.max(0, used - given)
end

--- @section allows-by-name
(cost == 0 or OWN)

--- @section charge-by-name
if cost > 0 then
  OWN
else
  --- @include report
end

--- @section overcharge-by-name
counted = cost
if cost > 0 then
  OWN
end

--- @section refund-by-name
if given > 0 then
  OWN
end

--- @section hold
-- Leaves of the `units` those that a limit can hold beside the ones that are `held`.
if units > MOST - held then
  units = math.max(0, MOST - held)
end
if counted > units then
  counted = units
end

--- @section length
-- How many bytes a string beside the counter has, which its limit keeps there.
length = redis.pcall("STRLEN", LOG)
if type(length) == "table" then
  if not string.find(length.err, "^WRONGTYPE") then
    call("STRLEN", LOG) -- ends the script, in the server's own words
  end
  isWrongType, length = true, 0
end

--- @section division
-- span * factor / PERIOD as whole `units` and a `rest` of PERIOD-ths, where the product may pass 2^53; factor, PERIOD < 2^45.
-- 7 bits of the factor at a time: rest * 128 + odd * digit < 2^45 * 255 < 2^53.
local odd, left, scale = span % PERIOD, factor, 4398046511104 -- 2^42
units, rest = 0, 0
repeat
  local digit = (left - left % scale) / scale
  local sum = rest * 128 + odd * digit
  left, rest, scale = left % scale, sum % PERIOD, scale / 128
  units = units * 128 + (sum - rest) / PERIOD
until scale < 1
units = units + (span - odd) / PERIOD * factor
