--[[
The record of a limiter for a day: the head; a line feed; 24 hours with 3 numbers of 10 digits each: allowed, denied, and
decided without the store; a line feed; the denials of each limit as JSON; a line feed; and the name of the limiter. The denials
by limit of ten minutes are the head, a line feed, and the same JSON. The list of a day is the head, and for each limiter a line
feed and its id of 16 characters.

An hour is the sum of its ten-minute slots in the series, which processes of all versions update. So counting costs nothing
more, and counts from processes whose version has no day records are included. An hour is summed, together with the hour before,
when subjects arrive, which is half a minute after they were counted.
]]
--- @section days
local HOUR_BYTES, HOURS = 30, 24 -- bytes of an hour, and hours of a day
local HOUR_SPAN, DAY_SPAN = 3600000000, 86400000000 -- microseconds
local DAY_TTL = 2764799999 -- milliseconds: 32 days with the one that expiryAfter adds
local MAX_LIMITS, MAX_LIMITS_BYTES = 64, 62500 -- limits of a limiter, and bytes of the limits of all limiters
local ID_BYTES = 17 -- bytes of a limiter in a list
local EMPTY = string.rep("0", HOUR_BYTES * HOURS)

local function areCounts(counts)
  for name, count in pairs(type(counts) == "table" and counts or { false }) do
    if type(name) ~= "string" or not isCount(count) then
      return false
    end
  end
  return true
end

-- Adds denials by limit to others, both as JSON; nil if those are invalid. Limits that do not fit count as "more".
local function addLimits(text, given, most)
  local isRead, counts = pcall(cjson.decode, text)
  if not isRead or not areCounts(counts) then
    return nil
  end
  local size, bytes = 0, 0
  for name in pairs(counts) do
    size, bytes = size + 1, bytes + #name + ITEM_OVERHEAD
  end
  for name, count in pairs(cjson.decode(given)) do
    if not counts[name] and string.find(name, " ", 1, true) then
      if size >= MAX_LIMITS or bytes + #name + ITEM_OVERHEAD > most then
        name = "more"
      else
        size, bytes = size + 1, bytes + #name + ITEM_OVERHEAD
      end
    end
    counts[name] = math.min((counts[name] or 0) + count, MAX_COUNT)
  end
  return cjson.encode(counts)
end

-- Adds to the denials by limit of ten minutes. Returns true if they were added, or if there was nothing to add.
local function addSpan(key, limits, most)
  if limits == "{}" then
    return true
  end
  local text = readRecord(key, MAX_RECORD_BYTES)
  local added = text and addLimits(text == "" and "{}" or text, limits, most)
  if added then
    redis.call("SET", key, start .. added, "PX", expiryAfter(TTL * 1000))
  end
  return added ~= nil
end

-- Adds a limiter to the list of a day. Returns false if there is no room.
local function addToDayList(list, id)
  local text = readRecord(list, MAX_RECORD_BYTES)
  if not text or #text + 1 >= MAX_LIMITERS * ID_BYTES then
    return false
  end
  if not string.find(text, id, 1, true) then
    local before = text == "" and head or start .. text
    redis.call("SET", list, before .. "\n" .. id, "PX", expiryAfter(DAY_TTL * 1000))
  end
  return true
end

-- Sums an hour of a series. The known value is kept if it is larger, as when the series was deleted.
local function sumHour(series, hour, known)
  local at = #start + SPAN_BYTES * (SHORT_SPANS + hour * LONG_PER_HOUR % LONG_SPANS)
  local slots = redis.call("GETRANGE", series, at, at + SPAN_BYTES * LONG_PER_HOUR - 1)
  local sums = { 0, 0, 0 }
  for i = 0, LONG_PER_HOUR - 1 do
    local from = SPAN_BYTES * i
    if tonumber(string.sub(slots, from + 1, from + 10)) == hour * LONG_PER_HOUR + i then
      for j = 1, 3 do
        sums[j] = sums[j] + tonumber(string.sub(slots, from + 10 * j + 1, from + 10 * j + 10))
      end
    end
  end
  for j = 1, 3 do
    sums[j] = math.min(math.max(sums[j], tonumber(string.sub(known, 10 * j - 9, 10 * j))), MAX_COUNT)
  end
  return string.format("%010.0f%010.0f%010.0f", unpack(sums))
end

-- Updates hours of one day, and adds denials by limit. An empty id is not listed. Returns whether the record was updated.
local function updateDay(key, list, id, label, series, hours, limits, most)
  local text = readRecord(key, MAX_RECORD_BYTES)
  local body = text == "" and EMPTY .. "\n{}\n" .. label or text or ""
  local digits, known, name = string.match(body, "^(%d+)\n([^\n]+)\n(.*)$")
  if not digits or #digits ~= #EMPTY then
    return false
  end
  for _, hour in ipairs(hours) do
    local at = HOUR_BYTES * (hour % HOURS)
    local sum = sumHour(series, hour, string.sub(digits, at + 1, at + HOUR_BYTES))
    digits = string.sub(digits, 1, at) .. sum .. string.sub(digits, at + HOUR_BYTES + 1)
  end
  known = limits == "{}" and known or addLimits(known, limits, most)
  if text == "" and digits == EMPTY and known == "{}" then
    return true -- a day without decisions
  elseif not known or text == "" and id ~= "" and not addToDayList(list, id) then
    return false
  end
  redis.call("SET", key, start .. digits .. "\n" .. known .. "\n" .. name, "PX", expiryAfter(DAY_TTL * 1000))
  return true
end

-- Updates the current hour, the hour before, and the hours of the rows, within the two days that there are keys for. Returns
-- whether everything was stored. The days are those of the process's clock, which may be some seconds behind.
local function updateDays(days, id, label, series, hours, limits, most)
  local current, areStored = math.floor(now / HOUR_SPAN), true
  local byDay = {}
  hours[current], hours[current - 1] = true, true
  for hour in pairs(hours) do
    local day = math.floor(hour / HOURS)
    -- The slots of an older hour may have been reused.
    if days[day] and hour > current - HOURS then
      byDay[day] = byDay[day] or {}
      table.insert(byDay[day], hour)
    end
  end
  local latest = math.floor(current / HOURS)
  latest = days[latest] and latest or latest - 1
  for day, ofDay in pairs(byDay) do
    local given = day == latest and limits or "{}"
    areStored = updateDay(days[day], days.lists[day], id, label, series, ofDay, given, most) and areStored
  end
  return areStored
end
