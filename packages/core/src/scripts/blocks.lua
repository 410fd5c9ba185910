--[[
What a limit that blocks has beside its algorithm. Its part of the argument, which begins behind byte BLOCK_AT, holds numbers of 5
digits: the milliseconds without a block after which its level is forgotten, then those of LEVELS blocks.
]]

--- @section denies
if not (ALLOWS) and cost <= GRANTED then
  local place = BLOCK_AT + 5 * math.min(level + 1, LEVELS)
  local d1, d2, d3, d4, d5 = string.byte(DIGITS, place + 1, place + 5)
  local span = (((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5) * 1000
  if span > longestBlock then
    d1, d2, d3, d4, d5 = string.byte(DIGITS, BLOCK_AT + 1, BLOCK_AT + 5)
    quiet = (((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5) * 1000
    longestBlock, setBy = span, PLACE
  end
end

--- @section outlives
isSet
