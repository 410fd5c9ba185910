--[[
Calendar window: a counter that starts from zero with each day, week, month or year of a time zone. Twin of fixed-window.ts,
which describes the state.

Lua has no time zones, so a call passes the boundaries of three windows: `earliest`, `opening`, `closing` and `latest`. The middle
window is the current one by the caller's clock; the server's clock decides which of the three applies. A stored window lasts until
its own end, even if another caller, with other time zone data, would end it at another time.

LONGEST_WINDOW: the longest possible window, in microseconds.
]]

--- @section current-window
-- If the clock is outside all three windows, change nothing: the caller reads the clock from the reply and calls again.
if now < earliest or now >= latest then
  return now
end
opens, closes = opening, closing
if now < opening then
  opens, closes = earliest, opening
elseif now >= closing then
  opens, closes = closing, latest
end

--- @section valid
starts <= stamp and stamp < ends and ends - starts <= LONGEST_WINDOW

--- @section create
starts, ends = opens, closes

--- @section advance
if now >= ends then
  -- Units charged before the window ended are not refunded to the next one, whatever boundaries the call passes.
  used, starts, ends = 0, math.max(ends, opens), closes
elseif now < starts then
  starts, ends = opens, closes -- the clock stepped back past the start of the window
end

--- @section window-age
now - starts

--- @section window-left
ends - now

--- @section lasts
ends - now
