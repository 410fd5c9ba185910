--[[
A unit: one subject of one limiter in one dimension. Its key holds the packed states of its limits behind one stamp:
  7 bytes  stamp: microseconds since the epoch at which the states were true
  6 bytes  birth: a number that tells this life of the unit from earlier ones, so that a refund cannot reach into a new one
  then each limit's state, in the policy's canonical order
Whatever does not fit (another length, numbers out of range) is garbage and counts as absent.
]]
local HEADER = 13
local DAY = 86400000
local now, clock, birth -- set by the script before the first unit is opened

local loaded = {}
local function algorithmOf(name)
  local algorithm = loaded[name]
  if not algorithm then
    algorithm = algorithms[name]()
    loaded[name] = algorithm
  end
  return algorithm
end

-- Reads the limits of a unit from the arguments, and their log keys from the keys.
local function readLimits(argument, key)
  local limits, width = {}, HEADER
  for i = 1, argument() do
    local algorithm = algorithmOf(argument())
    local quota = algorithm.quota(argument)
    local limit = { algorithm = algorithm, quota = quota, position = width + 1 }
    if algorithm == loaded.log then
      limit.log = key()
    end
    width = width + algorithm.width(quota)
    limits[i] = limit
  end
  limits.width = width
  return limits
end

-- Runs a command that reads a string. Returns its reply, or nil and true when the key holds something else.
local function readString(command, key)
  local reply = redis.pcall(command, key)
  if type(reply) ~= "table" then
    return reply, false
  end
  if string.sub(reply.err, 1, 9) == "WRONGTYPE" then
    return nil, true
  end
  return redis.call(command, key), false -- any other error ends the script, in the server's own words
end

local function unpackStates(bytes, limits)
  local states = {}
  for i, limit in ipairs(limits) do
    local state = limit.algorithm.unpack(bytes, limit.position, limit.quota)
    if not limit.algorithm.isSane(state, limit.quota) then
      return nil
    end
    states[i] = state
  end
  return states
end

-- Ties each log to its key. Returns whether all lengths are right, then whether a key is foreign.
local function attachLogs(unit)
  local whole = true
  for i, limit in ipairs(unit.limits) do
    if limit.log then
      local state = unit.states[i]
      local entries = state.entries
      entries:attach(limit.log, state)
      local length, foreign = readString("STRLEN", limit.log)
      if foreign then
        return false, true
      end
      whole = whole and length >= entries.size * SLOT
    end
  end
  return whole, false
end

local function makeFresh(unit)
  unit.stamp, unit.birth, unit.states = now, birth, {}
  for i, limit in ipairs(unit.limits) do
    unit.states[i] = limit.algorithm.fresh(limit.quota)
  end
end

-- A working copy of a unit, brought to the present; nil when one of its keys holds something foreign.
local function openUnit(key, limits)
  local bytes, foreign = readString("GET", key)
  if foreign then
    return nil
  end
  local unit = { key = key, limits = limits }
  local states = bytes and #bytes == limits.width and unpackStates(bytes, limits)
  if states then
    unit.stamp, unit.birth = struct.unpack(">I7I6", bytes)
    unit.states = states
  else
    makeFresh(unit)
  end
  local whole, foreignLog = attachLogs(unit)
  if foreignLog then
    return nil
  end
  if not whole then
    makeFresh(unit)
    attachLogs(unit)
  end
  if unit.stamp > now then
    -- The clock stepped back. The state is taken as of now, so nobody waits longer than before the step, and that is
    -- written even when nothing is charged, or the state would stay in the future. Receipts of before are void.
    unit.stamp, unit.birth, unit.dirty = now, birth, true
  end
  for i, limit in ipairs(limits) do
    limit.algorithm.advance(unit.states[i], limit.quota, now - unit.stamp, now)
  end
  return unit
end

-- Expiry is garbage collection only: the key outlives the last moment at which it differs from an absent one.
local function lifetime(unit)
  local longest = 0
  for i, limit in ipairs(unit.limits) do
    local _, reset = limit.algorithm.report(unit.states[i], limit.quota)
    longest = math.max(longest, reset)
  end
  local milliseconds = math.ceil(longest / 1000) + 1
  return clock == "" and milliseconds or math.max(milliseconds, DAY)
end

local function writeUnit(unit)
  local milliseconds = string.format("%.0f", lifetime(unit))
  local parts = { struct.pack(">I7I6", now, unit.birth) }
  for i, limit in ipairs(unit.limits) do
    local state = unit.states[i]
    if limit.log then
      state.entries:flush(limit.quota.limit, milliseconds)
    end
    parts[i + 1] = limit.algorithm.pack(state)
  end
  redis.call("SET", unit.key, table.concat(parts), "PX", milliseconds)
end

-- The working copies of this call, each opened once. `false` stands for one that is foreign.
local units = { order = {} }

local function unitOf(key, limits)
  local unit = units[key]
  if unit == nil then
    unit = openUnit(key, limits) or false
    units[key] = unit
    if unit then
      units.order[#units.order + 1] = unit
    end
  end
  return unit
end

local function writeChanged()
  for _, unit in ipairs(units.order) do
    if unit.dirty then
      writeUnit(unit)
    end
  end
end

-- Reads the next argument or key; numbers as numbers.
local function reader(list, position)
  return function()
    position = position + 1
    local text = list[position]
    return tonumber(text) or text
  end, function()
    return position < #list
  end
end

-- The server's clock in microseconds, or the one given to tests and replays.
local function readClock(argument)
  clock = argument
  if clock ~= "" then
    return tonumber(clock)
  end
  local time = redis.call("TIME")
  return time[1] * 1000000 + time[2]
end
