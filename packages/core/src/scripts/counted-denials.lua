--[[
What a limit that blocks after several denials has beside its algorithm. Twin of counted-denials.ts.

State  denials: how many since the first one that is not forgotten. forgetsIn: microseconds until all of them are forgotten; 0 if
       there are none.
Rule   as in blocks.lua; then, behind byte AFTER_AT of the argument, 3 digits: how many denials set a block; 0 if none do.
]]

--- @section sound
forgetsIn <= YEAR

--- @section advance
forgetsIn = math.max(0, forgetsIn - elapsed)
if forgetsIn == 0 then
  denials = 0
end

--- @section exceeds
isDue

--- @section exceeded
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
--- @include "longest-block"

--- @section outlives
isSet

--- @section lasts
if longest < forgetsIn then
  longest = forgetsIn
end
