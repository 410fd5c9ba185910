--[[
Sliding window over two counters: the previous window counts by the share of it that the sliding window still covers. Twin of
sliding-window.ts, which describes the state. PERIOD: microseconds of a window.
]]

--- @section valid
age < PERIOD

--- @section create
age, used = now % PERIOD, 0

--- @section advance
age = age + elapsed
if age >= PERIOD then
  current, previous = 0, age < 2 * PERIOD and current or 0
  age = age % PERIOD
end
if current == 0 and previous == 0 then
  age = now % PERIOD -- nothing is counted, so the windows can be aligned
end
used = current
if previous > 0 then
  local product, units, rest = (PERIOD - age) * previous, nil, nil
  if product <= SAFE then
    rest = product % PERIOD
    units = (product - rest) / PERIOD
  else
    local span, factor = PERIOD - age, previous
    --- @include division
  end
  used = used + units
  if rest > 0 then
    used = used + 1 -- rounded up
  end
end

--- @section used
used + cost

--- @section charge
current = current + cost

--- @section overcharge
local units, held = cost, used
--- @include clamp
current = current + units

--- @section lasts
2 * PERIOD - age

--- @section refund
-- Refunds only into the window that was charged, while it still counts.
if sinceCharge <= age then
  isRefunded, current = isRefunded or current > 0, math.max(0, current - chargedUnits)
elseif sinceCharge <= age + PERIOD then
  isRefunded, previous = isRefunded or previous > 0, math.max(0, previous - chargedUnits)
end
