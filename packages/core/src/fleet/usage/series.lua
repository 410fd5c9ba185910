--[[
The numbers of a limiter, or of all that have none of their own: the head, a line feed, 360 places of ten seconds, 144 of ten minutes, and
the name of the limiter. A place is taken by the number of its span since the epoch, modulo how many places there are, and has 4 numbers of
10 digits: that of the span, and what was allowed, denied, and decided without the store.
]]
--- @section series
local PLACE, SHORT, LONG = 40, 360, 144 -- bytes of a place, and how many of them are of ten seconds, and of ten minutes
local PER_LONG, PER_HOUR = 60, 6 -- places of ten seconds in one of ten minutes, and of these in an hour

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

-- Adds to a series, which is there. Returns whether there is a new span of ten minutes, and the hours of the rows.
local function addRows(series, rows)
  local isNew, hours = false, {}
  for span, allowed, denied, degraded in string.gmatch(rows, "(%d+) (%d+) (%d+) (%d+)") do
    span = tonumber(span)
    local long = math.floor(span / PER_LONG)
    addTo(series, span % SHORT, span, allowed, denied, degraded)
    isNew = addTo(series, SHORT + long % LONG, long, allowed, denied, degraded) or isNew
    hours[math.floor(long / PER_HOUR)] = true
  end
  redis.call("PEXPIRE", series, expiryAfter(KEPT * 1000))
  return isNew, hours
end

local function create(series, name)
  local places = string.rep("0", PLACE * (SHORT + LONG))
  redis.call("SET", series, start .. places .. name, "PX", expiryAfter(KEPT * 1000))
end
