--[[
Renews slots, or gives them back. A slot that is not on record stays off it.

KEYS, ARGV  as in counter.lua; behind the number of calls: 1 to renew and 0 to give back, then the holders of the slots
Returns for each call whether the slot of each holder was there, 1 or 0
]]

--- @section answer
answer = {}
--- @counters tend

--- @section tend
--- @include advance
local isChanged = false
for at = HOLDERS_AT, #DIGITS, HOLDER_BYTES do
  local holder, isThere = string.sub(DIGITS, at, at + HOLDER_BYTES - 1), 0
  --- @limits tend
  isChanged = isChanged or isThere == 1
  answer[#answer + 1] = isThere
end
if isChanged then
  --- @include keep
end
