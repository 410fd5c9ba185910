--[[
Erases subjects from the lists of tops.lua. All other counts stay, because they name no subject.

KEYS  for each call the top subjects of a limiter
ARGV  as in call.lua; the arguments of each call: the number of keys, and the time until each expires in microseconds; the number of
      subjects, and each as lists have it
Returns as in call.lua; for each call the number of keys from which a subject was erased
]]
--- @include "../operations/call" calls
local FIRST = 4 -- where subjects begin in a list
local MAX_RECORD_BYTES = 32768
local start = "headgate usage 1\n"

-- The two lists of a text; nil if they are invalid.
local function readLists(text)
  local used, denied = string.match(text, "^[^\n]+\n([^\n]+)\n([^\n]+)$")
  local isRead, lists = pcall(cjson.decode, "[" .. (used or "") .. "," .. (denied or "") .. "]")
  if isRead and type(lists[1]) == "table" and type(lists[2]) == "table" then
    return lists
  end
end

-- Whether a text names one of some subjects. Lists are written with the same encoder.
local function isNamedIn(text, erased)
  for item in pairs(erased) do
    if string.find(text, cjson.encode(item), 1, true) then
      return true
    end
  end
  return false
end

local function listWithout(list, erased)
  local kept = { list[1], list[2], list[3] }
  for at = FIRST, #list, 3 do
    if not erased[list[at]] then
      kept[#kept + 1], kept[#kept + 2], kept[#kept + 3] = list[at], list[at + 1], list[at + 2]
    end
  end
  return cjson.encode(kept)
end

-- Returns whether a subject was erased.
local function eraseFrom(tops, erased, rest)
  local length, isWrongType = runTyped("STRLEN", tops)
  if isWrongType or length == 0 then
    return false
  end
  local text = length <= MAX_RECORD_BYTES and redis.call("GET", tops) or ""
  local lists = string.sub(text, 1, #start) == start and readLists(text)
  if not lists then
    redis.call("DEL", tops) -- unreadable, so it may contain the subject
    return true
  elseif not isNamedIn(text, erased) then
    return false
  end
  local rewritten = start .. listWithout(lists[1], erased) .. "\n" .. listWithout(lists[2], erased)
  redis.call("SET", tops, rewritten, "PX", expiryAfter(rest))
  return true
end

-- Reads the next arguments: a count, and that many values.
local function takeArguments()
  local taken, count = {}, tonumber(ARGV[argumentAt + 1])
  for i = 1, count do
    taken[i] = ARGV[argumentAt + 1 + i]
  end
  argumentAt = argumentAt + 1 + count
  return taken
end

return takeCalls(function()
  local rests, erased, count = takeArguments(), {}, 0
  for _, item in ipairs(takeArguments()) do
    erased[item] = true
  end
  for i, rest in ipairs(rests) do
    count = count + (eraseFrom(KEYS[keyAt + i], erased, rest) and 1 or 0)
  end
  keyAt = keyAt + #rests
  add(count)
end)
