--[[
Renews slots, or gives them back. A slot that is not on record stays off it.

KEYS  for each call, of its counter: its own, then that of its slots
ARGV  [1] the clock, or nothing; then for each run of calls that are alike, as digits: the numbers of the limit, how many calls they
      are, 1 to renew and 0 to give back; then the holders of the slots
Returns for each call whether the slot of each holder was there, 1 or 0; -1 when a key holds something else
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
