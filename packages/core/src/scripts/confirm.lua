--[[
Counts kept units of settled charges, and blocks counters that have kept as many as a limit grants.

KEYS, ARGV  as in counter.lua; behind the number of charges: the kept units, the charged units, the clock of the charge, the generation
            of each counter then, the rules of the limits that block, a random number
Returns for each charge 1 when a block was set, 0 when none was
]]

--- @section answer
answer = 0
--- @counters confirm

--- @section confirm
local isHere, since = bytes and generation == charged and stamp >= moment and stamp <= now, now - moment
--- @include advance
local isVoid
if block then
  -- Units confirmed for a charge from before a limit's block no longer count.
  local blockEnds, _, _, setBy = struct.unpack(">I7I7I1I1", block)
  isVoid = setBy > 0 and blockEnds > moment
end
if not isVoid then
  local isSet
  --- @limits confirm
  --- @include renew
  --- @include block
  --- @include keep
  if isSet then
    answer = 1
  end
end
