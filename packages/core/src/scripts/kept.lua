--[[
What a limit that blocks by what is kept has beside its algorithm. Twin of kept-units.ts.

State  kept: units of the window that were settled, and are not given back any more.
]]

--- @section advance
if used == 0 then
  kept = 0 -- a new window
end

--- @section judge
-- It counts in the window in which it is known: who holds answers back until the next one gains nothing.
if not (isHere and since <= AGE) then
  used = math.min(MOST, used + math.min(given, cost))
end
kept = math.min(MOST, kept + cost)

--- @section exceeds
kept >= GRANTED

--- @section exceeded
--- @include "longest-block"
