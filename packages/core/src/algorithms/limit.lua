--[[
Default sections, for algorithms that have none of their own under that name. With a cost by name, they also wrap the
algorithm's own sections: a limit that is left out allows everything, and is neither charged nor refunded.
]]

--- @section allows
used + cost <= limit

--- @section charge
used = used + cost

--- @section used
-- The units used after a charge: in algorithms whose `used` is of before it, those of both.
used

--- @section left
-- Where a limit has no windows of its own, all of one.
window

--- @section overcharge
local units, held = cost, used
--- @include hold
used = used + units

--- @section refund
-- Refunds only into the window that was charged.
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
-- Reduces `units` to what the limit can still hold beside the `held` ones.
if units > MOST - held then
  units = math.max(0, MOST - held)
end
if counted > units then
  counted = units
end

--- @section length
-- The length in bytes of a string beside the counter, where its limit stores entries.
length = redis.pcall("STRLEN", LOG)
if type(length) == "table" then
  if not string.find(length.err, "^WRONGTYPE") then
    call("STRLEN", LOG) -- fails with the server's own error
  end
  isWrongType, length = true, 0
end

--- @section division
-- span * factor / PERIOD as whole `units` and a `rest` in PERIOD-ths, where the product may exceed
-- 2^53; factor, PERIOD < 2^45. Takes 7 bits of the factor at a time: rest * 128 + odd * digit <
-- 2^45 * 255 < 2^53.
local odd, left, scale = span % PERIOD, factor, 4398046511104 -- 2^42
units, rest = 0, 0
repeat
  local digit = (left - left % scale) / scale
  local sum = rest * 128 + odd * digit
  left, rest, scale = left % scale, sum % PERIOD, scale / 128
  units = units * 128 + (sum - rest) / PERIOD
until scale < 1
units = units + (span - odd) / PERIOD * factor
