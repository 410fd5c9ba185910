--[[
What a limit that blocks has beside its algorithm, by what makes it block: a `denial`, the last of several `denials`, or `kept` units.
Twin of blocks.ts.

Its rule begins behind byte RULE_AT of the argument: numbers of 5 digits, which are the milliseconds without a block after which
the level is forgotten, then those of LEVELS blocks. For several denials 3 digits follow behind byte AFTER_AT: how many set a block;
0 if none do.

State  denials: how many since the first one that is not forgotten. forgetsIn: microseconds until all of them are forgotten; 0 if
       there are none. kept: units of the window that were settled, and are not given back any more.
]]

--- @section denial-exceeds
not (ALLOWS) and cost <= GRANTED

--- @section denial-outlives
isSet

--- @section denials-sound
forgetsIn <= YEAR

--- @section denials-advance
forgetsIn = math.max(0, forgetsIn - elapsed)
if forgetsIn == 0 then
  denials = 0
end

--- @section denials-exceeds
isDue

--- @section denials-exceeded
local isDue = false
if not (ALLOWS) and cost <= GRANTED then
  local a1, a2, a3 = string.byte(DIGITS, AFTER_AT + 1, AFTER_AT + 3)
  local after = ((a1) * 128 + a2) * 128 + a3
  if after > 0 then
    if denials == 0 then
      local d1, d2, d3, d4, d5 = string.byte(DIGITS, RULE_AT + 1, RULE_AT + 5)
      forgetsIn = (((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5) * 1000
    end
    denials, isSet = math.min(after, denials + 1), true
    isDue = denials == after
  end
end
--- @include exceeded

--- @section denials-outlives
isSet

--- @section denials-lasts
if longest < forgetsIn then
  longest = forgetsIn
end

--- @section kept-advance
if used == 0 then
  kept = 0 -- a new window
end

--- @section kept-confirm
-- Counts in the window in which it is reported: a client gains nothing by delaying responses until the next window.
if not (isHere and since <= AGE) then
  used = math.min(MOST, used + math.min(given, cost))
end
kept = math.min(MOST, kept + cost)

--- @section kept-exceeds
kept >= GRANTED

--- @section exceeded
-- If the limit is exceeded, sets its block if that is longer than those of other limits.
if EXCEEDS then
  local place = RULE_AT + 5 * math.min(level + 1, LEVELS)
  local d1, d2, d3, d4, d5 = string.byte(DIGITS, place + 1, place + 5)
  local span = (((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5) * 1000
  if span > longestBlock then
    d1, d2, d3, d4, d5 = string.byte(DIGITS, RULE_AT + 1, RULE_AT + 5)
    quiet = (((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5) * 1000
    longestBlock, setBy = span, PLACE
  end
end

--- @section restart
-- The limit that set the block starts as unused.
if setBy == PLACE then
  --- @code zero
  --- @include fresh
end
