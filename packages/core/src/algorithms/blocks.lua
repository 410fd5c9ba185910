--[[
The sections of a limit that blocks, in addition to those of its algorithm. Their prefix is what makes it block: a `denial`, the last
of several `denials`, or `confirmed` units. Twin of blocks.ts.

The block rule begins after byte RULE_AT of the argument, in numbers of 5 digits: the milliseconds without a block after which the
level is forgotten, then the length of the block at each of MAX_LEVELS levels. For several denials 3 digits follow after byte
AFTER_AT: the number of denials that set a block, or 0 if none do.

State  denials: denials counted since the first one that is not forgotten. forgetsIn: microseconds until they are forgotten; 0 if
       there are none. confirmed: units of the window that were settled and can no longer be refunded.
]]

--- @section denial-exceeds
not (ALLOWS) and cost <= GRANTED

--- @section denial-outlives
isSet

--- @section denials-valid
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
  local a1, a2, a3 = string.byte(digits, AFTER_AT + 1, AFTER_AT + 3)
  local after = ((a1) * 128 + a2) * 128 + a3
  if after > 0 then
    if denials == 0 then
      local d1, d2, d3, d4, d5 = string.byte(digits, RULE_AT + 1, RULE_AT + 5)
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
forgetsIn

--- @section confirmed-advance
if used == 0 then
  confirmed = 0 -- a new window
end

--- @section confirmed-confirm
-- Counts in the window in which it is reported: a client gains nothing by delaying responses until the next window.
if not (isSameGeneration and sinceCharge <= WINDOW_AGE) then
  used = math.min(MAX_UNITS, used + math.min(chargedUnits, cost))
end
confirmed = math.min(MAX_UNITS, confirmed + cost)

--- @section confirmed-exceeds
confirmed >= GRANTED

--- @section exceeded
-- If the limit is exceeded, sets its block if that is longer than those of other limits.
if EXCEEDS then
  local lengthAt = RULE_AT + 5 * math.min(level + 1, MAX_LEVELS)
  local d1, d2, d3, d4, d5 = string.byte(digits, lengthAt + 1, lengthAt + 5)
  local span = (((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5) * 1000
  if span > longestBlock then
    d1, d2, d3, d4, d5 = string.byte(digits, RULE_AT + 1, RULE_AT + 5)
    quiet = (((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5) * 1000
    longestBlock, setBy = span, POSITION
  end
end

--- @section restart
-- The limit that set the block starts as unused.
if setBy == POSITION then
  --- @code zero
  --- @include create
end
