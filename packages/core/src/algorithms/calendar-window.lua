--[[
Calendar window: a counter that starts from zero with each day, week, month or year of a time zone. Twin of calendar-window.ts,
which describes the state.

Lua knows no time zones. A call brings the boundaries of three windows, `earliest`, `opening`, `closing` and `latest`; the middle one
is the present one by the caller's clock. The clock here decides which one it is. The value keeps its own window until that ends,
also when another caller, by other zone data, would end it elsewhere.

LONGEST_WINDOW: microseconds that no window exceeds.
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

--- @section age
now - starts

--- @section lasts
if longest < ends - now then
  longest = ends - now
end
