--[[
The subjects of a limiter in ten minutes: the head, and in a line each two lists as JSON, of those who asked most and of those who were
denied most. A list has how often at most somebody asked whom a process left out; how often at most somebody did who is not in the list;
how many were counted at all; and of each subject who it is, how often it asked at most, and how much of that it may not have asked.
]]
--- @section tops
local FIRST = 4 -- where subjects begin in a list
local LIST, LISTS = 3000, 125000 -- bytes of a list, and of the lists of a kind and ten minutes of all limiters
local MOST_ITEMS = 1000 -- values of a list that is read
local NOBODY = "[0,0,0]" -- a list to begin with

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

-- A list with what is added to it: space-saving, of which docs/reference/usage.md says why it holds.
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
