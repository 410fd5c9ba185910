--[[
Default sections, for algorithms without a section of that name. With a cost by name, the sections that end in `-by-name` also wrap
the algorithm's own: a limit that the cost leaves out allows everything, and is neither charged nor refunded.
]]

--- @section allows
used + cost <= limit

--- @section reduce
-- Reduces a cost to the whole units that are left, which are negative if usage exceeds the limit.
cost = math.min(cost, LEFT)

--- @section left
limit - used

--- @section charge
used = used + cost

--- @section used
-- The units used after a charge. An algorithm whose `used` is from before the charge adds the cost.
used

--- @section window-left
-- A limit without windows of its own has a whole window left.
window

--- @section overcharge
local units, held = cost, used
--- @include clamp
used = used + units

--- @section refund
-- Refunds only into the window that was charged.
if sinceCharge <= WINDOW_AGE and used > 0 then
  isRefunded, used = true, math.max(0, used - chargedUnits)
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
if chargedUnits > 0 then
  OWN
end

--- @section clamp
-- Reduces `units` to what the limit can still hold in addition to the `held` units.
if units > MAX_UNITS - held then
  units = math.max(0, MAX_UNITS - held)
end
if counted > units then
  counted = units
end

--- @section length
-- The length in bytes of the string in which the limit stores its entries.
length = tryCall("STRLEN", LOG)
if type(length) == "table" then
  if not string.find(length.err, "^WRONGTYPE") then
    call("STRLEN", LOG) -- fails with the server's own error
  end
  answer = -1
  break
end

--- @section division
-- span * factor / PERIOD as whole `units` and a `rest` in PERIOD-ths. The product may exceed 2^53; factor, PERIOD < 2^45. Takes 7 bits of the factor at a time: rest * 128 + odd * digit <
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
