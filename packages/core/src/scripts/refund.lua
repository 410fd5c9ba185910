--[[
Gives back what is left of charges, each only into the generation of the counter that was charged.

KEYS, ARGV  as in counter.lua; behind the number of refunds: the units, the clock of the charge, the generation of each counter then
Returns for each refund 1 when something was given back, 0 when nothing was left
]]

--- @section answer
answer = 0
--- @counters refund

--- @section refund
if bytes and generation == charged and stamp >= moment and stamp <= now then
  local since, isGiven = now - moment, false
  elapsed = now - stamp
  --- @limits advance
  --- @limits refund
  if isGiven then
    answer = 1
    --- @include keep
  end
end
