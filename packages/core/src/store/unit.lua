--[[
A unit: one subject of one limiter in one dimension. Its key holds the packed states of its limits behind one stamp:
  7 bytes  stamp: microseconds since the epoch at which the states were true
  6 bytes  birth: a number that tells this life of the unit from earlier ones, so that a refund cannot reach into a new one
  then each limit's state, in the policy's canonical order
Whatever does not fit (another length, numbers out of range) is garbage and counts as absent.

A unit's limits come as a description: each limit's algorithm and parameters, separated by spaces.
]]
local HEADER = 13
--- @include "call"

local loaded, described, units, opened = {}, {}, {}, {}

-- The limits of a description, which is read once a call.
local function limitsOf(description)
  local limits = described[description]
  if limits then
    return limits
  end
  limits = { width = HEADER }
  local words = string.gmatch(description, "%S+")
  local function number()
    return tonumber(words())
  end
  for name in words do
    local algorithm = loaded[name] or algorithms[name]()
    loaded[name] = algorithm
    local quota = algorithm.quota(number)
    limits[#limits + 1] = { algorithm = algorithm, quota = quota, position = limits.width + 1 }
    limits.width = limits.width + algorithm.width(quota)
    limits.hasLog = limits.hasLog or name == "log"
  end
  described[description] = limits
  return limits
end

-- Ties the logs of a unit to their keys. Returns whether they are as long as they should be, then whether one is foreign.
local function attachLogs(unit)
  local isWhole, states = true, unit.states
  for i, log in pairs(unit.logs) do
    states[i].entries:attach(log, states[i])
    local length, isForeign = readString("STRLEN", log)
    if isForeign then
      return false, true
    end
    isWhole = isWhole and length >= states[i].entries:bytes()
  end
  return isWhole, false
end

local function makeFresh(unit)
  unit.stamp, unit.birth = now, birth
  for i, limit in ipairs(unit.limits) do
    unit.states[i] = limit.algorithm.fresh(limit.quota)
  end
end

-- Reads the states from what a key holds; fresh ones where that is nothing, or garbage.
local function readStates(unit, bytes)
  local limits, states = unit.limits, unit.states
  if not bytes or #bytes ~= limits.width then
    return makeFresh(unit)
  end
  unit.stamp, unit.birth = struct.unpack(">I7I6", bytes)
  for i = 1, #limits do
    local limit = limits[i]
    states[i] = limit.algorithm.unpack(bytes, limit.position, limit.quota)
    if not limit.algorithm.isSane(states[i], limit.quota) then
      return makeFresh(unit)
    end
  end
end

-- A working copy of a unit, brought to the present; false when one of its keys holds something foreign.
local function openUnit(key, logs, limits)
  local bytes, isForeign = readString("GET", key)
  if isForeign then
    return false
  end
  local unit = { key = key, logs = logs, limits = limits, states = {} }
  readStates(unit, bytes)
  if logs then
    local isWhole, isForeignLog = attachLogs(unit)
    if isForeignLog then
      return false
    end
    if not isWhole then
      makeFresh(unit)
      attachLogs(unit)
    end
  end
  if unit.stamp > now then
    -- The clock stepped back. The state is taken as of now, so nobody waits longer than before the step, and that is
    -- written even when nothing is charged, or the state would stay in the future. Receipts of before are void.
    unit.stamp, unit.birth, unit.dirty = now, birth, true
  end
  local elapsed = now - unit.stamp
  for i = 1, #limits do
    limits[i].algorithm.advance(unit.states[i], limits[i].quota, elapsed, now)
  end
  opened[#opened + 1] = unit
  return unit
end

-- The unit that the next keys and the next description name: the working copy of this call, opened once. Then its limits.
local function nextUnit()
  keyAt, argumentAt = keyAt + 1, argumentAt + 1
  local key, limits, logs = KEYS[keyAt], limitsOf(ARGV[argumentAt]), nil
  if limits.hasLog then
    logs = {}
    for i = 1, #limits do
      if limits[i].algorithm == loaded.log then
        keyAt = keyAt + 1
        logs[i] = KEYS[keyAt]
      end
    end
  end
  local unit = units[key]
  if unit == nil then
    unit = openUnit(key, logs, limits)
    units[key] = unit
  end
  return unit, limits
end

-- Writes the units that changed. A key outlives the last moment, `reset` microseconds from now, at which it differs from an
-- absent one.
local function writeChanged()
  for _, unit in ipairs(opened) do
    if unit.dirty then
      local milliseconds = expiryAfter(unit.reset)
      local bytes = struct.pack(">I7I6", now, unit.birth)
      for i, limit in ipairs(unit.limits) do
        local state = unit.states[i]
        if state.entries then
          state.entries:flush(limit.quota.limit, milliseconds)
        end
        bytes = bytes .. limit.algorithm.pack(state)
      end
      redis.call("SET", unit.key, bytes, "PX", milliseconds)
    end
  end
end
