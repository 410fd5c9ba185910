--[[
Sliding window over two counters: the previous window counts by the share of it that the sliding window still covers. Twin of
weighted-window.ts, which describes the state. PERIOD: microseconds of a window.
]]

--- @section sound
age < PERIOD

--- @section fresh
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
--- @include hold
current = current + units

--- @section lasts
if longest < 2 * PERIOD - age then
  longest = 2 * PERIOD - age
end

--- @section refund
-- Refunds only into the window that was charged, while it still counts.
if since <= age then
  isGiven, current = isGiven or current > 0, math.max(0, current - given)
elseif since <= age + PERIOD then
  isGiven, previous = isGiven or previous > 0, math.max(0, previous - given)
end
