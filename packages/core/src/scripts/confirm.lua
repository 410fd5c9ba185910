--[[
Confirms units of settled charges, and blocks counters in which as many units are confirmed as a limit grants.

KEYS, ARGV  as in counter.lua; after the number of charges: the confirmed units, the charged units, the clock at the charge, the
            generation of each counter then, the rules of the limits that block, a random number
Returns for each charge 1 if a block was set, otherwise 0
SCRIPTS.md explains the directives (--- @...) and the names in capitals.
]]

--- @section answer
answer = 0
--- @counters confirm

--- @section confirm
local isSameGeneration, sinceCharge = bytes and generation == chargedGeneration and stamp >= chargedAt and stamp <= now, now - chargedAt
--- @include advance
local isVoid
if block then
  -- Units confirmed for a charge from before a limit's block no longer count.
  local blockEnds, _, _, setBy = struct.unpack(">I7I7I1I1", block)
  isVoid = setBy > 0 and blockEnds > chargedAt
end
if not isVoid then
  local isSet
  --- @limits confirm
  --- @include block
  --- @include save
  if isSet then
    answer = 1
  end
end
