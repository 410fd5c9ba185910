--[[
Changes a control record, and appends what was done to the log of actions, unless somebody else was faster.

KEYS  [1] the record, [2] the log
ARGV  [1], [2] as in call.lua
      [3] the version that is changed, in 16 digits; empty where there was no record
      [4] the record without its version; a negative time in it is one from now
      [5] for how many milliseconds it is kept; empty for as long as nobody changes it
      [6] the entry for the log, without its time
Returns the clock and the new version; 0 in its place where the record has another version than the one to be changed, -1 where the
log is a value of a wrong type
]]
--- @include "../operations/call" moment
--- @include "../operations/call" typed
local record, log = KEYS[1], KEYS[2]
local VERSION = 15 -- the last byte of the version
local MOST, LONGEST, DAY = 1000, 7776000000, 86400000 -- entries of the log, and milliseconds

local function write(time)
  return string.format("%016.0f", time)
end

-- Replaces relative times by times on the server's clock.
local function settle(text)
  local function moment(name, ahead)
    return name .. string.format("%.0f", now + ahead)
  end
  return (string.gsub(string.gsub(text, '("from":)%-(%d+)', moment), '("until":)%-(%d+)', moment))
end

local old = redis.call("GETRANGE", record, "0", VERSION)
if old ~= ARGV[3] then
  return { now, 0 }
end

-- The log is written first: the write may be refused, and a script that fails is not rolled back. For the same reason the entry
-- comes after everything that its log needs, so that no log is left without an expiry.
local _, isWrongType = runTyped("LRANGE", log, "0", "0")
if isWrongType then
  return { now, -1 }
end
redis.call("LTRIM", log, "0", MOST - 2)
for _ = 1, MOST do
  local oldest = redis.call("LRANGE", log, "-1", "-1")[1]
  if not oldest or (tonumber(string.sub(oldest, 1, VERSION + 1)) or 0) >= now - LONGEST * 1000 then
    break
  end
  redis.call("LTRIM", log, "0", "-2")
end
redis.call("PEXPIRE", log, LONGEST)
redis.call("LPUSH", log, write(now) .. settle(ARGV[6]))
redis.call("PEXPIRE", log, LONGEST)

-- If the clock stepped back, the version still grows.
local version = math.max(now, (tonumber(old) or 0) + 1)
local text = write(version) .. settle(ARGV[4])
if ARGV[5] == "" then
  redis.call("SET", record, text)
else
  -- If a clock was supplied, which may stand still, keep it for at least a day.
  local kept = ARGV[1] == "" and ARGV[5] or math.max(ARGV[5], DAY)
  redis.call("SET", record, text, "PX", string.format("%.0f", kept))
end
return { now, version }
