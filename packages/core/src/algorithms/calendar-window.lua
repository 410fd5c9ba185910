--[[
Calendar window: a counter that starts from zero with each day, week, month or year of a time zone. Twin of calendar-window.ts.

Lua knows no time zones. A call brings the boundaries of three windows, of which the middle one is the present one as far as the
caller knows. Which one it is, the clock here says. What is kept has its own window, which is over at its end, whatever another
caller, by other zone data, would say of it.

State  used: units spent in the window. starts, ends: the window, in microseconds since the epoch.
Quota  limit.
Times  earliest, opening, closing, latest: the boundaries.
Shape  LONGEST_WINDOW: microseconds that no window lasts longer than.
]]

--- @section present
-- Nothing is done on a clock that is in none of the windows: the caller is told the clock, and asks again.
if now < earliest or now >= latest then
  return now
end
opens, closes = opening, closing
if now < opening then
  opens, closes = earliest, opening
elseif now >= closing then
  opens, closes = closing, latest
end

--- @section sound
starts <= stamp and stamp < ends and ends - starts <= LONGEST_WINDOW

--- @section fresh
starts, ends = opens, closes

--- @section advance
if now >= ends then
  -- What was charged before the end is not given back to the next window, whichever boundaries the call brought.
  used, starts, ends = 0, math.max(ends, opens), closes
elseif now < starts then
  starts, ends = opens, closes -- the clock stepped back to before the window
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
now - starts

--- @section lasts
if longest < ends - now then
  longest = ends - now
end

--- @section refund
-- Only into the window that was charged.
if since <= now - starts and used > 0 then
  isGiven, used = true, math.max(0, used - given)
end
