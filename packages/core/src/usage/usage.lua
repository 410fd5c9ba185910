--[[
Adds what a process has counted of its limiters to what is kept of all processes. A call has a number, which grows: one that was
done already is not done again.

The index is a head, which says its format, and behind it of each limiter a line feed, 16 characters that name it, a space, and in
10 digits the second in which it was touched last. The record of a process is the head, the number of its last call, and the second in
which that was done. series.lua, tops.lua, days.lua and blocks.lua say what the other keys hold.

KEYS  for each call the index, the record of the process; the series of all other limiters; the lists of limiters of the day before that
      of the clock, and of that day; the records of all other limiters for these two days; the list of blocks; and for each limiter its series, its tops,
      and, unless its limits are empty, its denials by limit, and its records for the two days
ARGV  as in call.lua; the arguments of each call: its number; the clock of the process in microseconds; the number of limiters; blocks,
      in a line each; and of each limiter the characters that name it in the index, empty for all others; its name; numbers of spans of ten seconds, each with
      what was allowed, denied, and decided without the store; its two lists, without the second number, empty where they are; and as
      JSON how many denials each limit has, empty when the records of days are not due
Returns as in call.lua; for each call 1 when it was done, 0 when it was done before, 2 when the clock of the process is away from
      the server's, 3 when there is another format, 4 when the index is too long, -1 when a key is no string; and for each limiter 1
      when it was counted, 2 when it was counted among all others, 3 when its series has another format, -1 when that is no string,
      4 when its numbers were counted, and the rest not, because what is there is too long or damaged
]]
--- @include "../operations/call" calls
--- @include "../operations/call" lines
local LINE, MOST = 28, 500 -- bytes of a line of the index, and how many limiters there are at most
local LARGEST = 9999999999 -- the largest number that a place holds
local BESIDE = 12 -- how many bytes an item of a list usually takes beside its name
local KEPT, PROCESS = 90000000, 3600000 -- how long what was counted is kept, and the number of a process, in milliseconds
local LONGEST = 32768 -- bytes of the tops and records that are read
local AWAY = 5000000 -- by how many microseconds the clock of a process may be away
local DIGITS = 28 -- of the longest number of a process, with the second, and two spaces
local ALWAYS, EACH, DUE = 8, 2, 3 -- keys of each call, of each limiter, and of one whose records are due
local ARGUMENTS = 6 -- of each limiter
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
    redis.call("PEXPIRE", index, expiryAfter(KEPT * 1000))
    return true
  end
  local lines = linesSince(text, now / 1000000 - KEPT / 1000)
  if #lines < MOST then
    redis.call("SET", index, head .. table.concat(lines) .. line .. seconds(), "PX", expiryAfter(KEPT * 1000))
  end
  return #lines < MOST
end

--- @include "series" series
--- @include "tops" tops
--- @include "days" days
--- @include "blocks" blocks

-- Adds to the series of limiters that have none of their own.
local function addOthers(others, rows, days)
  local state = stateOf(others)
  if state == 0 then
    create(others, "")
  end
  if state == 0 or state == 1 then
    local _, hours = addRows(others, rows)
    keepDays(days, "", "", others, hours, "{}", 0)
  end
end

-- The keys of a call's days: their lists and, from an index in KEYS on, the records of a limiter.
local function daysAt(lists, day, place)
  return { lists = lists, [day - 1] = KEYS[place], [day] = KEYS[place + 1] }
end

-- Adds a limiter's counts. Its name in the index is empty if it has no series of its own.
local function addLimiter(index, others, key, name, label, rows, used, denied, limits)
  local series, tops = KEYS[key + 1], KEYS[key + 2]
  local state = name == "" and 2 or stateOf(series)
  if state == 0 then
    if touch(index, name) then
      create(series, label)
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
    local limiters = math.max(1, (redis.call("STRLEN", index) - #head) / LINE)
    local areKept = addTops(tops, used, denied, math.min(LIST, math.floor(LISTS / limiters)))
    if limits ~= "" then
      local most = math.min(LIST, math.floor(LIMITS / limiters))
      local days = daysAt(others.days.lists, others.day, key + 4)
      areKept = addSpan(KEYS[key + 3], limits, most) and areKept
      areKept = keepDays(days, name, label, series, hours, limits, most) and areKept
    end
    if not areKept then
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
  local day, key, from = math.floor(clock / DAY_SPAN), keyAt + ALWAYS, argumentAt + 4
  count = tonumber(count)
  local known, isWrongType = runTyped("GETRANGE", process, 0, #head + DIGITS)
  local last = known == "" and 0 or known and string.match(known, "^" .. head .. " (%d+) ?%d*$")
  local state = stateOf(index)
  if state == 1 and redis.call("STRLEN", index) > #head + LINE * MOST then
    state = 4
  end
  local isTaken = false
  if isWrongType or state == -1 then
    addWrongType(1)
  elseif not last or state > 1 then
    add(last and state or 3)
  elseif tonumber(number) <= tonumber(last) then
    add(0)
  elseif math.abs(now - clock) > AWAY then
    add(2)
  else
    -- Written first: if a later write is refused, the counts are lost rather than counted twice.
    redis.call("SET", process, head .. " " .. number .. " " .. seconds(), "PX", expiryAfter(PROCESS * 1000))
    add(1)
    addBlocks(KEYS[keyAt + ALWAYS], blocks)
    isTaken = true
  end
  local lists = { [day - 1] = before, [day] = today }
  local ofOthers = { series = others, day = day, days = daysAt(lists, day, keyAt + 6) }
  for _ = 1, count do
    if isTaken then
      addLimiter(index, ofOthers, key, unpack(ARGV, from + 1, from + ARGUMENTS))
    end
    key = key + EACH + (ARGV[from + ARGUMENTS] ~= "" and DUE or 0)
    from = from + ARGUMENTS
  end
  if not isTaken then
    addZeros(count)
  end
  keyAt, argumentAt = key, from
end)
