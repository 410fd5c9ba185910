--[[
Adds what a process has counted of its limiters to what is kept of all processes. A call has a number, which grows: one that was
done already is not done again.

The index is a head, which says its format, and behind it of each limiter a line feed, 16 characters that name it, a space, and in
10 digits the second in which it was touched last. A series is the head, a line feed, 360 places of ten seconds, 144 of ten minutes, and
the name of the limiter. A place is taken by the number of its span since the epoch, modulo how many places there are, and has 4 numbers of 10 digits:
that of the span, and what was allowed, denied, and decided without the store.

Tops are the head, and in a line each two lists as JSON, of those who asked most and of those who were denied most. A list has how often
at most somebody asked whom a process left out; how often at most somebody did who is not in the list; how many were counted at all; and
of each subject who it is, how often it asked at most, and how much of that it may not have asked.

KEYS  for each call the index, the record of the process, the series of all other limiters; for each limiter its series and its tops
ARGV  as in call.lua; the arguments of each call: its number; the clock of the process in microseconds; the number of limiters; and of
      each the characters that name it in the index, empty for all others; its name; numbers of spans of ten seconds, each with
      what was allowed, denied, and decided without the store; and its two lists, without the second number, empty where they are
Returns as in call.lua; for each call 1 when it was done, 0 when it was done before, 2 when the clock of the process is away from
      the server's, 3 when there is another format, 4 when the index is too long, -1 when a key is no string; and for each limiter 1
      when it was counted, 2 when it was counted among all others, 3 when its series has another format, -1 when that is no string,
      4 when its numbers were counted, and its subjects not, because its tops are too long or damaged
]]
--- @include "../../store/call" calls
--- @include "../../store/call" lines
local LINE, MOST = 28, 500 -- bytes of a line of the index, and how many limiters there are at most
local PLACE, SHORT, LONG = 40, 360, 144 -- bytes of a place, and how many of them are of ten seconds, and of ten minutes
local PER_LONG, LARGEST = 60, 9999999999 -- places of ten seconds in one of ten minutes, and the largest number that a place holds
local FIRST, BESIDE = 4, 12 -- where subjects begin in a list, and how many bytes a subject usually takes beside its name
local LIST, LISTS = 3000, 125000 -- bytes of a list, and of the lists of a kind and ten minutes of all limiters
local KEPT, PROCESS = 90000000, 3600000 -- how long what was counted is kept, and the number of a process, in milliseconds
local LONGEST, MOST_ITEMS = 32768, 1000 -- bytes of the tops that are read, and values of a list in them
local AWAY = 5000000 -- by how many microseconds the clock of a process may be away
local DIGITS = 17 -- of the longest number of a process, and one more
local NOBODY = "[0,0,0]" -- a list to begin with
local head = "headgate usage 1"
local start = head .. "\n" -- of all keys but the record of a process

-- What a key is: 0 for absent, 1 for what is expected, 3 for another format, -1 for no string.
local function stateOf(key)
  local found, isWrongType = runTyped("GETRANGE", key, 0, #start - 1)
  if isWrongType then
    return -1
  elseif found == "" then
    return 0
  end
  return found == start and 1 or 3
end

local function seconds()
  return string.format("%010.0f", math.floor(now / 1000000))
end

-- Notes in the index that a limiter was touched. Returns whether it has a line there.
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

-- Adds to a place of a series. Returns whether its span is a new one there.
local function addTo(series, place, span, ...)
  local at = #start + PLACE * place
  local kept = redis.call("GETRANGE", series, at, at + PLACE - 1)
  local numbers, from = { span, ... }, tonumber(string.sub(kept, 1, 10)) or 0
  if from > span then
    return false -- it was so long ago that its place has been taken
  end
  for i = 2, 4 do
    local before = from == span and tonumber(string.sub(kept, 10 * i - 9, 10 * i)) or 0
    numbers[i] = math.min(before + numbers[i], LARGEST)
  end
  redis.call("SETRANGE", series, at, string.format("%010.0f%010.0f%010.0f%010.0f", unpack(numbers)))
  return from < span
end

-- Adds to a series, which is there. Returns whether there is a new span of ten minutes.
local function addRows(series, rows)
  local isNew = false
  for span, allowed, denied, degraded in string.gmatch(rows, "(%d+) (%d+) (%d+) (%d+)") do
    span = tonumber(span)
    local long = math.floor(span / PER_LONG)
    addTo(series, span % SHORT, span, allowed, denied, degraded)
    isNew = addTo(series, SHORT + long % LONG, long, allowed, denied, degraded) or isNew
  end
  redis.call("PEXPIRE", series, expiryAfter(KEPT * 1000))
  return isNew
end

local function create(series, name)
  local places = string.rep("0", PLACE * (SHORT + LONG))
  redis.call("SET", series, start .. places .. name, "PX", expiryAfter(KEPT * 1000))
end

-- Leaves in a list so many of the most frequent.
local function cut(list, most)
  local counts = {}
  for at = FIRST + 1, #list, 3 do
    counts[#counts + 1] = list[at]
  end
  table.sort(counts)
  local least, floor = counts[#counts - most + 1] or LARGEST, 0
  local kept, size = { list[1], 0, list[3] }, FIRST - 1
  for at = FIRST, #list, 3 do
    local count = list[at + 1]
    if count > least or count == least and size < FIRST + 3 * most - 1 then
      kept[size + 1], kept[size + 2], kept[size + 3] = list[at], count, list[at + 2]
      size = size + 3
    else
      floor = math.max(floor, count)
    end
  end
  kept[2] = floor
  return kept
end

-- A list with what is added to it: space-saving, of which docs/how-to/usage.md says why it holds.
local function addList(list, given, most)
  given = cjson.decode(given)
  local places, floor, bytes = {}, list[2], 0
  for at = FIRST, #list, 3 do
    places[list[at]], bytes = at, bytes + #list[at] + BESIDE
  end
  list[1], list[3] = list[1] + given[1], list[3] + given[2]
  for from = FIRST - 1, #given, 3 do
    local item = given[from]
    local at = places[item]
    if not at then
      at, bytes = #list + 1, bytes + #item + BESIDE
      list[at], list[at + 1], list[at + 2] = item, floor, floor
    end
    list[at + 1], list[at + 2] = list[at + 1] + given[from + 1], list[at + 2] + given[from + 2]
  end
  if bytes <= most then
    return list
  end
  -- To three quarters, so that it is not cut each time.
  local many = (#list - FIRST + 1) / 3
  return cut(list, math.floor(many * most * 3 / 4 / bytes))
end

local function isCount(value)
  return type(value) == "number" and value >= 0 and value <= LARGEST
end

-- Whether a value is a list as the head says.
local function isList(list)
  if type(list) ~= "table" or #list < FIRST - 1 or #list % 3 > 0 or #list > MOST_ITEMS then
    return false
  end
  for at = 1, #list do
    local isItem = at >= FIRST and at % 3 == 1
    if isItem and type(list[at]) ~= "string" or not isItem and not isCount(list[at]) then
      return false
    end
  end
  return true
end

-- A list of a text with what is added to it, as text; nil where it makes no sense. Nothing added, it is not even read.
local function addText(text, given, most)
  if given == "" then
    return text
  end
  local isRead, list = pcall(cjson.decode, text)
  if isRead and isList(list) then
    return cjson.encode(addList(list, given, most))
  end
end

-- Returns whether the tops took it, or there was nothing to add.
local function addTops(tops, used, denied, most)
  if used .. denied == "" then
    return true
  end
  local state = stateOf(tops)
  if state ~= 0 and (state ~= 1 or redis.call("STRLEN", tops) > LONGEST) then
    return false
  end
  local text = state == 0 and NOBODY .. "\n" .. NOBODY or string.sub(redis.call("GET", tops), #start + 1)
  -- Not by a pattern, which takes as long as all of the rest.
  local at = string.find(text, "\n", 1, true)
  local asked = at and addText(string.sub(text, 1, at - 1), used, most)
  local refused = asked and addText(string.sub(text, at + 1), denied, most)
  if refused then
    redis.call("SET", tops, start .. asked .. "\n" .. refused, "PX", expiryAfter(KEPT * 1000))
  end
  return refused ~= nil and refused ~= false
end

-- Adds what was counted of a limiter whose name in the index is empty where it has none of its own.
local function addLimiter(index, others, series, tops, name, label, rows, used, denied)
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
    if addRows(series, rows) then
      touch(index, name)
    end
    local most = math.floor(LISTS / math.max(1, (redis.call("STRLEN", index) - #head) / LINE))
    if not addTops(tops, used, denied, math.min(LIST, most)) then
      state = 4
    end
  elseif state == 2 then
    local there = stateOf(others)
    if there == 0 then
      create(others, "")
    end
    if there == 0 or there == 1 then
      addRows(others, rows)
    end
  end
  add(state)
end

local function addZeros(count)
  for _ = 1, count do
    add(0)
  end
end

return takeCalls(function()
  local index, process, others = unpack(KEYS, keyAt + 1, keyAt + 3)
  local number, clock, count = unpack(ARGV, argumentAt + 1, argumentAt + 3)
  count = tonumber(count)
  local known, isWrongType = runTyped("GETRANGE", process, 0, #head + DIGITS)
  local last = known == "" and 0 or known and string.match(known, "^" .. head .. " (%d+)$")
  local state = stateOf(index)
  if state == 1 and redis.call("STRLEN", index) > #head + LINE * MOST then
    state = 4
  end
  if isWrongType or state == -1 then
    addWrongType(1 + count)
  elseif not last or state > 1 then
    add(last and state or 3)
    addZeros(count)
  elseif tonumber(number) <= tonumber(last) then
    add(0)
    addZeros(count)
  elseif math.abs(now - clock) > AWAY then
    add(2)
    addZeros(count)
  else
    -- First of all: where what follows is refused, it is lost, and not counted twice.
    redis.call("SET", process, head .. " " .. number, "PX", expiryAfter(PROCESS * 1000))
    add(1)
    for i = 1, count do
      local key, from = keyAt + 1 + 2 * i, argumentAt - 2 + 5 * i
      addLimiter(index, others, KEYS[key + 1], KEYS[key + 2], unpack(ARGV, from + 1, from + 5))
    end
  end
  keyAt, argumentAt = keyAt + 3 + 2 * count, argumentAt + 3 + 5 * count
end)
