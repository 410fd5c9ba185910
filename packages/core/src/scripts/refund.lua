--[[
Gives back what is left of charges, each only into the generation of the counter that was charged.

KEYS  for each refund, of each counter: its own, then that of each sliding log in it
ARGV  [1] the clock, or nothing; then for each run of refunds that are alike, as digits: the numbers of the limits, how many
      refunds they are, the units, the clock at which they were charged, the generation of each counter then
Returns for each refund 1 when something was given back, 0 when nothing was left, -1 when a key holds something else
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
