--[[
Fixed window: a counter that starts from zero in every window. Twin of fixed-window.ts.

State  used: units spent in the window. age: microseconds since the window began.
Quota  limit.
Shape  PERIOD: microseconds of a window. ALIGNED: 1 when windows are multiples since the Unix epoch, 0 when a window begins with
       the first request after the last one ended.
]]

--- @section sound
age < PERIOD

--- @section fresh
if ALIGNED == 1 then
  age = now % PERIOD
end

--- @section advance
age = age + elapsed
if used == 0 or age >= PERIOD then
  used, age = 0, ALIGNED == 1 and now % PERIOD or 0
end

--- @section allows
used + cost <= limit

--- @section charge
used = used + cost

--- @section overcharge
local units, held = cost, used
--- @include "hold"
used = used + units

--- @section age
age

--- @section lasts
if longest < PERIOD - age then
  longest = PERIOD - age
end

--- @section refund
-- Only into the window that was charged.
if since <= age and used > 0 then
  isGiven, used = true, math.max(0, used - given)
end
