--[[
Decides requests: all limits of a decision allow, or nothing of it is charged.

KEYS  for each decision, for each of its units: the unit's key, then the key of each sliding log in it
ARGV  [1] the clock in microseconds, empty for the server's own (a seam for tests and replays)
      [2] a random number below 2^48: the birth of units that are created now
      then for each decision: cost; 1 to charge, 0 to only look; the number of units; then for each unit the number
      of its limits; then for each limit the algorithm's name and its parameters
Returns for each decision an array of integers:
      1 allowed, 0 denied; the clock; then for each unit its birth; then for each of its limits: microseconds to wait
      (0 allowed, -1 never), remaining units, microseconds until unused, microseconds until remaining grows
      or the single integer -1 when a key of it holds something foreign; nothing of that decision is charged

Decisions are taken in order, each sees what the earlier ones did, and each changed unit is written once at the end.
]]
local algorithms = {}
--- @include "log-entries"
--- @include "../algorithms/exact"
--- @include "../algorithms/token-bucket"
--- @include "../algorithms/fixed-window"
--- @include "../algorithms/sliding-window"
--- @include "../algorithms/sliding-log"
--- @include "unit"

local function decide(argument, key)
  local cost, charge, opened, foreign = argument(), argument() == 1, {}, false
  for i = 1, argument() do
    local name = key()
    opened[i] = unitOf(name, readLimits(argument, key))
    foreign = foreign or not opened[i]
  end
  if foreign then
    return { -1 }
  end
  local allowed, waits = true, {}
  for _, unit in ipairs(opened) do
    for i, limit in ipairs(unit.limits) do
      local wait = limit.algorithm.wait(unit.states[i], limit.quota, cost)
      waits[#waits + 1] = wait
      allowed = allowed and wait == 0
    end
  end
  local reply, asked = { allowed and 1 or 0, now }, 0
  for _, unit in ipairs(opened) do
    reply[#reply + 1] = unit.birth
    unit.dirty = unit.dirty or (allowed and charge)
    for i, limit in ipairs(unit.limits) do
      local algorithm, state, size = limit.algorithm, unit.states[i], #reply
      if allowed then
        state = charge and state or algorithm.copy(state)
        algorithm.spend(state, limit.quota, cost)
      end
      asked = asked + 1
      reply[size + 1] = waits[asked]
      reply[size + 2], reply[size + 3], reply[size + 4] = algorithm.report(state, limit.quota)
    end
  end
  return reply
end

now = readClock(ARGV[1])
birth = tonumber(ARGV[2])
local argument, hasMore = reader(ARGV, 2)
local key = reader(KEYS, 0)
local replies = {}
while hasMore() do
  replies[#replies + 1] = decide(argument, key)
end
writeChanged()
return replies
