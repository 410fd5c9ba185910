--[[
Renews or releases slots. A slot that is no longer recorded is not recorded again.

KEYS, ARGV  as in counter.lua; after the number of calls: 1 to renew or 0 to release, then the holders of the slots
Returns for each call and each holder 1 if it held a slot, otherwise 0
SCRIPTS.md explains the directives (--- @...) and the names in capitals.
]]

--- @section answer
answer = {}
--- @counters update-slots

--- @section update-slots
--- @include advance
local isChanged = false
for at = HOLDERS_AT, #digits, HOLDER_BYTES do
  local holder, wasHeld = string.sub(digits, at, at + HOLDER_BYTES - 1), 0
  --- @limits update-slot
  isChanged = isChanged or wasHeld == 1
  answer[#answer + 1] = wasHeld
end
if isChanged then
  --- @include save
end
