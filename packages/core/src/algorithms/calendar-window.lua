--[[
Calendar window: a counter that starts from zero with each day, week, month or year of a time zone. Twin of calendar-window.ts,
which describes the state.

Lua has no time zones, so a call passes the boundaries of three windows, `earliest`, `opening`, `closing` and `latest`; the
middle window is the current one by the caller's clock. The clock of this server decides which of the three it is. A stored
window lasts until its own end, even if another caller, with other zone data, would end it at another time.

LONGEST_WINDOW: the longest possible window, in microseconds.
]]

--- @section present
-- If the clock is outside all three windows, change nothing: the caller learns the clock and asks again.
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
  -- Units charged before the window ended are not refunded to the next one, whatever boundaries the call passes.
  used, starts, ends = 0, math.max(ends, opens), closes
elseif now < starts then
  starts, ends = opens, closes -- the clock stepped back past the start of the window
end

--- @section age
now - starts

--- @section left
ends - now

--- @section lasts
if longest < ends - now then
  longest = ends - now
end
