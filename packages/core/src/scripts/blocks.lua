--[[
What a limit that blocks has beside its algorithm. Its rule begins behind byte RULE_AT of the argument: numbers of 5 digits, which
are the milliseconds without a block after which the level is forgotten, then those of LEVELS blocks.
]]

--- @section denies
if not (ALLOWS) and cost <= GRANTED then
  local place = RULE_AT + 5 * math.min(level + 1, LEVELS)
  local d1, d2, d3, d4, d5 = string.byte(DIGITS, place + 1, place + 5)
  local span = (((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5) * 1000
  if span > longestBlock then
    d1, d2, d3, d4, d5 = string.byte(DIGITS, RULE_AT + 1, RULE_AT + 5)
    quiet = (((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5) * 1000
    longestBlock, setBy = span, PLACE
  end
end

--- @section outlives
isSet
