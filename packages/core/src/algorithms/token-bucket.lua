--[[
Token bucket, counted as debt: units spent that have not drained yet. Twin of token-bucket.ts, which describes the state. GCRA
uses the same arithmetic. PERIOD: microseconds in which `refill` units drain.
]]

--- @section valid
part < PERIOD

--- @section create
fastest = refill

--- @section advance
if fastest < refill then
  fastest = refill
end
local product = elapsed * refill
if product <= SAFE then
  local rest = product % PERIOD
  part = part - rest
  whole = whole - (product - rest) / PERIOD
elseif product > (whole + 2) * PERIOD then
  whole = -1 -- drains far more than there is, so the exact quotient does not matter
else
  local span, factor, units, rest = elapsed, refill, nil, nil
  --- @include division
  whole, part = whole - units, part - rest
end
if part < 0 then
  part = part + PERIOD
  whole = whole - 1
end
if whole < 0 then
  whole, part = 0, 0
end

--- @section allows
(whole + cost < capacity or whole + cost == capacity and part == 0)

--- @section left
capacity - whole - (part > 0 and 1 or 0)

--- @section charge
whole = whole + cost

--- @section overcharge
local units, held = cost, part > 0 and whole + 1 or whole
--- @include clamp
whole = whole + units

--- @section used
whole + (part > 0 and 1 or 0)

--- @section lasts
(whole * PERIOD + part) / refill

--- @section outlives
keyExpires < LAST_SECOND and (whole * PERIOD + part) / refill > keyExpires * 1000000 - now

--- @section refund
-- The remainder of a charge is at least its cost minus all that can have drained since. Refunding that much never leaves more
-- room than if the request had not been made.
local span, factor, units, rest = sinceCharge, fastest, chargedUnits, 0
if span * factor < (chargedUnits + 1) * PERIOD then
  --- @include division
end
if units < chargedUnits then
  isRefunded, whole, part = true, whole - chargedUnits + units, part + rest
  if part >= PERIOD then
    whole, part = whole + 1, part - PERIOD
  end
end
