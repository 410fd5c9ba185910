--[[
Refunds the remainders of charges, each only into the generation of the counter that was charged.

KEYS, ARGV  as in counter.lua; after the number of refunds: the units, the clock at the charge, the generation of each counter then
Returns for each refund 1 if something was refunded, 0 if nothing was left
SCRIPTS.md explains the directives (--- @...) and the names in capitals.
]]

--- @section answer
answer = 0
--- @counters refund

--- @section refund
if bytes and generation == chargedGeneration and stamp >= chargedAt and stamp <= now then
  local sinceCharge, isRefunded = now - chargedAt, false
  elapsed = now - stamp
  --- @limits advance
  --- @limits refund
  if isRefunded then
    answer = 1
    --- @include save
  end
end
