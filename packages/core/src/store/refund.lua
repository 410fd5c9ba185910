--[[
Gives back what is left of charges, each only into the life of the unit that was charged.

KEYS  for each refund, for each of its units: the unit's key, then the key of each sliding log in it
ARGV  [1] the clock in microseconds, empty for the server's own (a seam for tests and replays)
      [2] a random number below 2^48: the birth of units that are created now
      then for each refund: the cost; the clock at which it was charged; the number of units; then for each unit
      its birth at that time and the number of its limits; then for each limit the algorithm's name and its parameters
Returns for each refund an array of one integer: 1 when something was given back, 0 when nothing was left,
      -1 when a key of it holds something foreign
]]
local algorithms = {}
--- @include "log-entries"
--- @include "../algorithms/exact"
--- @include "../algorithms/token-bucket"
--- @include "../algorithms/fixed-window"
--- @include "../algorithms/sliding-window"
--- @include "../algorithms/sliding-log"
--- @include "unit"

local function giveBack(unit, cost, charged, born)
  local given = false
  if unit.birth ~= born or charged > now then
    return given
  end
  for i, limit in ipairs(unit.limits) do
    given = limit.algorithm.refund(unit.states[i], limit.quota, cost, now - charged) or given
  end
  unit.dirty = unit.dirty or given
  return given
end

local function refund(argument, key)
  local cost, charged, result = argument(), argument(), 0
  for _ = 1, argument() do
    local name, born = key(), argument()
    local unit = unitOf(name, readLimits(argument, key))
    if not unit then
      result = -1
    elseif giveBack(unit, cost, charged, born) and result == 0 then
      result = 1
    end
  end
  return { result }
end

now = readClock(ARGV[1])
birth = tonumber(ARGV[2])
local argument, hasMore = reader(ARGV, 2)
local key = reader(KEYS, 0)
local replies = {}
while hasMore() do
  replies[#replies + 1] = refund(argument, key)
end
writeChanged()
return replies
