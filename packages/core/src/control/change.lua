--[[
Changes a control record, and adds an entry to the log of actions, unless the record has been changed since it was read.

KEYS  [1] the record, [2] the log
ARGV  [1], [2] as in call.lua
      [3] the version that was read, in 16 digits; empty if there was no record
      [4] the record without its version; a negative time -n stands for n microseconds from now
      [5] the lifetime of the record in milliseconds; empty to keep it until the next change
      [6] the entry for the log, without its time
Returns the clock and the new version; instead of the version 0 if the record has another version than the one that was read, -1 if
the key of the log holds another type
]]
--- @include "../operations/call" moment
--- @include "../operations/call" typed
local record, log = KEYS[1], KEYS[2]
local VERSION_END = 15 -- the last byte of the version
local MAX_ENTRIES, LOG_TTL, DAY = 1000, 7776000000, 86400000 -- entries of the log, and milliseconds

local function write(time)
  return string.format("%016.0f", time)
end

-- Replaces relative times by times on the server's clock.
local function resolveTimes(text)
  local function resolveTime(name, ahead)
    return name .. string.format("%.0f", now + ahead)
  end
  return (string.gsub(string.gsub(text, '("from":)%-(%d+)', resolveTime), '("until":)%-(%d+)', resolveTime))
end

local old = redis.call("GETRANGE", record, "0", VERSION_END)
if old ~= ARGV[3] then
  return { now, 0 }
end

-- The log is written first: the write may be refused, and a script that fails is not rolled back. For the same reason the entry
-- comes after everything that its log needs, so that no log is left without an expiry.
local _, isWrongType = runTyped("LRANGE", log, "0", "0")
if isWrongType then
  return { now, -1 }
end
redis.call("LTRIM", log, "0", MAX_ENTRIES - 2)
for _ = 1, MAX_ENTRIES do
  local oldest = redis.call("LRANGE", log, "-1", "-1")[1]
  if not oldest or (tonumber(string.sub(oldest, 1, VERSION_END + 1)) or 0) >= now - LOG_TTL * 1000 then
    break
  end
  redis.call("LTRIM", log, "0", "-2")
end
redis.call("PEXPIRE", log, LOG_TTL)
redis.call("LPUSH", log, write(now) .. resolveTimes(ARGV[6]))
redis.call("PEXPIRE", log, LOG_TTL)

-- If the clock stepped back, the version still grows.
local version = math.max(now, (tonumber(old) or 0) + 1)
local text = write(version) .. resolveTimes(ARGV[4])
if ARGV[5] == "" then
  redis.call("SET", record, text)
else
  -- If a clock was supplied, which may stand still, keep it for at least a day.
  local kept = ARGV[1] == "" and ARGV[5] or math.max(ARGV[5], DAY)
  redis.call("SET", record, text, "PX", string.format("%.0f", kept))
end
return { now, version }
