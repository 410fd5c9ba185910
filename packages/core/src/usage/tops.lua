--[[
The busiest subjects of a limiter in ten minutes: the head, and two lists as JSON, each on a line of its own: the subjects with
the most decisions, and those with the most denials. A list begins with three counts: the largest possible count of a subject that
a process left out, the largest possible count of any other subject outside the list, and the total. For each subject it has the
subject's text, its largest possible count, and the error of that count.
]]
--- @section tops
local FIRST = 4 -- where subjects begin in a list
local MAX_LIST_BYTES, MAX_LISTS_BYTES = 3000, 125000 -- of one list, and of the lists of all limiters for ten minutes
local MAX_ITEMS = 1000 -- values of a list
local EMPTY_LIST = "[0,0,0]"

-- Cuts a list to its most frequent subjects.
local function cut(list, most)
  local counts = {}
  for at = FIRST + 1, #list, 3 do
    counts[#counts + 1] = list[at]
  end
  table.sort(counts)
  local least, floor = counts[#counts - most + 1] or MAX_COUNT, 0
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

-- Merges two lists by space-saving; docs/reference/usage.md explains why this is correct.
local function addList(list, given, most)
  given = cjson.decode(given)
  local positions, floor, bytes = {}, list[2], 0
  for at = FIRST, #list, 3 do
    positions[list[at]], bytes = at, bytes + #list[at] + ITEM_OVERHEAD
  end
  list[1], list[3] = list[1] + given[1], list[3] + given[2]
  for from = FIRST - 1, #given, 3 do
    local item = given[from]
    local at = positions[item]
    if not at then
      at, bytes = #list + 1, bytes + #item + ITEM_OVERHEAD
      list[at], list[at + 1], list[at + 2] = item, floor, floor
    end
    list[at + 1], list[at + 2] = list[at + 1] + given[from + 1], list[at + 2] + given[from + 2]
  end
  if bytes <= most then
    return list
  end
  -- Cut to three quarters of the size, so that not every call has to cut.
  local many = (#list - FIRST + 1) / 3
  return cut(list, math.floor(many * most * 3 / 4 / bytes))
end

local function isCount(value)
  return type(value) == "number" and value >= 0 and value <= MAX_COUNT
end

-- Whether a value is a list as described above.
local function isList(list)
  if type(list) ~= "table" or #list < FIRST - 1 or #list % 3 > 0 or #list > MAX_ITEMS then
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

-- Adds to a list given as text, and returns it as text; nil if it is invalid. If there is nothing to add, the list is not even
-- parsed.
local function addText(text, given, most)
  if given == "" then
    return text
  end
  local isRead, list = pcall(cjson.decode, text)
  if isRead and isList(list) then
    return cjson.encode(addList(list, given, most))
  end
end

-- Returns true if the lists were updated, or if there was nothing to add.
local function addTops(tops, used, denied, most)
  if used .. denied == "" then
    return true
  end
  local text = readRecord(tops, MAX_RECORD_BYTES)
  if not text then
    return false
  end
  text = text == "" and EMPTY_LIST .. "\n" .. EMPTY_LIST or text
  -- A plain search: a pattern would take as long as the rest of the script.
  local at = string.find(text, "\n", 1, true)
  local topSubjects = at and addText(string.sub(text, 1, at - 1), used, most)
  local topDenied = topSubjects and addText(string.sub(text, at + 1), denied, most)
  if topDenied then
    redis.call("SET", tops, start .. topSubjects .. "\n" .. topDenied, "PX", expiryAfter(TTL * 1000))
  end
  return topDenied ~= nil and topDenied ~= false
end
