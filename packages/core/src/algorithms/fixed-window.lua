--[[
Fixed window: a counter that starts from zero in every window. Twin of fixed-window.ts, which describes the state.

PERIOD: microseconds of a window. ALIGNED: 1 when windows are multiples since the Unix epoch, 0 when a window begins with the first
request after the last one ended.
]]

--- @section valid
age < PERIOD

--- @section create
if ALIGNED == 1 then
  age = now % PERIOD
end

--- @section advance
age = age + elapsed
if used == 0 or age >= PERIOD then
  used, age = 0, ALIGNED == 1 and now % PERIOD or 0
end

--- @section window-age
age

--- @section window-left
PERIOD - age

--- @section lasts
PERIOD - age
