--[[
Adds the counts of a process to the usage of its limiters. A process numbers its calls; a call with a number that was processed
before changes nothing.

The index is a head, which names its format, and for each limiter a line feed, the limiter's id of 16 characters, a space, and the
second in which it was last updated, in 10 digits. The record of a process is the head, the number of its last call, and the
second of that call. series.lua, tops.lua, days.lua and blocks.lua describe the other keys.

KEYS  for each call the index; the record of the process; the series of all other limiters; the lists of limiters of the day before
      that of the process's clock, and of that day; the records of all other limiters for these two days; the list of blocks; and
      for each limiter its series, its top subjects, and, unless its limits are empty, its denials by limit, and its records for
      the two days
ARGV  as in call.lua; the arguments of each call: its number; the clock of the process in microseconds; the number of limiters;
      blocks, one on each line; and for each limiter its id in the index, empty for all other limiters; its name; numbers of spans
      of ten seconds, each with the decisions that were allowed, denied, and made without the store; its two lists, without the
      second number, empty if there are none; and its denials by limit as JSON, empty if the records of days are not due
Returns as in call.lua; for each call 1 if it was processed, 0 if it was processed before, 2 if the clock of the process differs
      too much from the server's, 3 for another format, 4 if the index is too long, -1 if a key holds another type; and for each
      limiter 1 if it was counted, 2 if it was counted with all other limiters, 3 if its series has another format, -1 if that key
      holds another type, 4 if its decisions were counted, but not the rest, because a stored value is too long or damaged
]]
--- @include "../operations/call" calls
--- @include "../operations/call" lines
local LINE_BYTES, MAX_LIMITERS = 28, 500
local MAX_COUNT = 9999999999 -- 10 digits
local ITEM_OVERHEAD = 12 -- bytes that an item of a list usually takes in addition to its name
local TTL, PROCESS_TTL = 90000000, 3600000 -- of counts, and of the record of a process, in milliseconds
local MAX_RECORD_BYTES = 32768 -- of the top subjects and records that are read
local MAX_SKEW = 5000000 -- microseconds by which the clock of a process may differ
local PROCESS_BYTES = 28 -- of the number of the last call, the second, and two spaces
local CALL_KEYS, LIMITER_KEYS, DUE_KEYS = 8, 2, 3 -- keys of each call, of each limiter, and of a limiter whose records are due
local LIMITER_ARGUMENTS = 6
local head = "headgate usage 1"
local start = head .. "\n" -- of all keys but the record of a process

-- The state of a key: 0 if absent, 1 if as expected, 3 if in another format, -1 if not a string.
local function stateOf(key)
  local found, isWrongType = runTyped("GETRANGE", key, 0, #start - 1)
  if isWrongType then
    return -1
  elseif found == "" then
    return 0
  end
  return found == start and 1 or 3
end

-- Reads a string of this format, without its head: empty if there is none, nil if the value is anything else, or longer.
local function readRecord(key, longest)
  local length, isWrongType = runTyped("STRLEN", key)
  if isWrongType or length > longest then
    return nil
  end
  local text = length == 0 and start or redis.call("GET", key)
  return string.sub(text, 1, #start) == start and string.sub(text, #start + 1) or nil
end

local function seconds()
  return string.format("%010.0f", math.floor(now / 1000000))
end

-- Records in the index that a limiter was updated. Returns whether it has a line there.
local function touch(index, name)
  local text = redis.call("GET", index) or head
  local line = "\n" .. name .. " "
  local at = string.find(text, line, #head + 1, true)
  if at then
    redis.call("SETRANGE", index, at + #line - 1, seconds())
    redis.call("PEXPIRE", index, expiryAfter(TTL * 1000))
    return true
  end
  local lines = linesSince(text, now / 1000000 - TTL / 1000)
  if #lines < MAX_LIMITERS then
    redis.call("SET", index, head .. table.concat(lines) .. line .. seconds(), "PX", expiryAfter(TTL * 1000))
  end
  return #lines < MAX_LIMITERS
end

--- @include "series" series
--- @include "tops" tops
--- @include "days" days
--- @include "blocks" blocks

-- Adds to the series of limiters that have none of their own.
local function addOthers(others, rows, days)
  local state = stateOf(others)
  if state == 0 then
    createSeries(others, "")
  end
  if state == 0 or state == 1 then
    local _, hours = addRows(others, rows)
    updateDays(days, "", "", others, hours, "{}", 0)
  end
end

-- The keys of a call's days: their lists and, from an index in KEYS on, the records of a limiter.
local function daysAt(lists, day, position)
  return { lists = lists, [day - 1] = KEYS[position], [day] = KEYS[position + 1] }
end

-- Adds a limiter's counts. Its name in the index is empty if it has no series of its own.
local function addLimiter(index, others, key, name, label, rows, used, denied, limits)
  local series, tops = KEYS[key + 1], KEYS[key + 2]
  local state = name == "" and 2 or stateOf(series)
  if state == 0 then
    if touch(index, name) then
      createSeries(series, label)
      state = 1
    else
      state = 2
    end
  end
  if state == 1 then
    local isNew, hours = addRows(series, rows)
    if isNew then
      touch(index, name)
    end
    local limiters = math.max(1, (redis.call("STRLEN", index) - #head) / LINE_BYTES)
    local areStored = addTops(tops, used, denied, math.min(MAX_LIST_BYTES, math.floor(MAX_LISTS_BYTES / limiters)))
    if limits ~= "" then
      local most = math.min(MAX_LIST_BYTES, math.floor(MAX_LIMITS_BYTES / limiters))
      local days = daysAt(others.days.lists, others.day, key + 4)
      areStored = addSpan(KEYS[key + 3], limits, most) and areStored
      areStored = updateDays(days, name, label, series, hours, limits, most) and areStored
    end
    if not areStored then
      state = 4
    end
  elseif state == 2 then
    addOthers(others.series, rows, others.days)
  end
  add(state)
end

local function addZeros(count)
  for _ = 1, count do
    add(0)
  end
end

return takeCalls(function()
  local index, process, others, before, today = unpack(KEYS, keyAt + 1, keyAt + 5)
  local number, clock, count, blocks = unpack(ARGV, argumentAt + 1, argumentAt + 4)
  local day, key, from = math.floor(clock / DAY_SPAN), keyAt + CALL_KEYS, argumentAt + 4
  count = tonumber(count)
  local known, isWrongType = runTyped("GETRANGE", process, 0, #head + PROCESS_BYTES)
  local last = known == "" and 0 or known and string.match(known, "^" .. head .. " (%d+) ?%d*$")
  local state = stateOf(index)
  if state == 1 and redis.call("STRLEN", index) > #head + LINE_BYTES * MAX_LIMITERS then
    state = 4
  end
  local isAccepted = false
  if isWrongType or state == -1 then
    addWrongType(1)
  elseif not last or state > 1 then
    add(last and state or 3)
  elseif tonumber(number) <= tonumber(last) then
    add(0)
  elseif math.abs(now - clock) > MAX_SKEW then
    add(2)
  else
    -- Written first: if a later write is refused, the counts are lost rather than counted twice.
    redis.call("SET", process, head .. " " .. number .. " " .. seconds(), "PX", expiryAfter(PROCESS_TTL * 1000))
    add(1)
    addBlocks(KEYS[keyAt + CALL_KEYS], blocks)
    isAccepted = true
  end
  local lists = { [day - 1] = before, [day] = today }
  local ofOthers = { series = others, day = day, days = daysAt(lists, day, keyAt + 6) }
  for _ = 1, count do
    if isAccepted then
      addLimiter(index, ofOthers, key, unpack(ARGV, from + 1, from + LIMITER_ARGUMENTS))
    end
    key = key + LIMITER_KEYS + (ARGV[from + LIMITER_ARGUMENTS] ~= "" and DUE_KEYS or 0)
    from = from + LIMITER_ARGUMENTS
  end
  if not isAccepted then
    addZeros(count)
  end
  keyAt, argumentAt = key, from
end)
