--[[
The counts of a limiter over time, or of all limiters without a series of their own: the head, a line feed, 360 slots of ten
seconds, 144 slots of ten minutes, and the name of the limiter. Spans are numbered since the epoch; a span uses the slot with its
number modulo the number of slots. A slot has 4 numbers of 10 digits: the number of its span, and the decisions that were
allowed, denied, and made without the store.
]]
--- @section series
local SPAN_BYTES, SHORT_SPANS, LONG_SPANS = 40, 360, 144 -- bytes of a span; spans of ten seconds, and of ten minutes
local SHORT_PER_LONG, LONG_PER_HOUR = 60, 6

-- Adds to a slot of a series. Returns whether this starts a new span there.
local function addTo(series, slot, span, ...)
  local at = #start + SPAN_BYTES * slot
  local stored = redis.call("GETRANGE", series, at, at + SPAN_BYTES - 1)
  local numbers, from = { span, ... }, tonumber(string.sub(stored, 1, 10)) or 0
  if from > span then
    return false -- too old: its slot has been reused
  end
  for i = 2, 4 do
    local before = from == span and tonumber(string.sub(stored, 10 * i - 9, 10 * i)) or 0
    numbers[i] = math.min(before + numbers[i], MAX_COUNT)
  end
  redis.call("SETRANGE", series, at, string.format("%010.0f%010.0f%010.0f%010.0f", unpack(numbers)))
  return from < span
end

-- Adds to an existing series. Returns whether a new span of ten minutes has started, and the hours of the rows.
local function addRows(series, rows)
  local isNew, hours = false, {}
  for span, allowed, denied, degraded in string.gmatch(rows, "(%d+) (%d+) (%d+) (%d+)") do
    span = tonumber(span)
    local long = math.floor(span / SHORT_PER_LONG)
    addTo(series, span % SHORT_SPANS, span, allowed, denied, degraded)
    isNew = addTo(series, SHORT_SPANS + long % LONG_SPANS, long, allowed, denied, degraded) or isNew
    hours[math.floor(long / LONG_PER_HOUR)] = true
  end
  redis.call("PEXPIRE", series, expiryAfter(TTL * 1000))
  return isNew, hours
end

local function createSeries(series, name)
  local slots = string.rep("0", SPAN_BYTES * (SHORT_SPANS + LONG_SPANS))
  redis.call("SET", series, start .. slots .. name, "PX", expiryAfter(TTL * 1000))
end
