--[[
A target: the key of its period and the key of its window, and the policy that a call comes with, separated by spaces:
  the kind of its window and its size, calls at least, the success rate at least, the rate of slow calls at which it opens,
  trial calls, microseconds that a lease and the ramp last, then for how long it opens the first, the second, ... time
]]
--- @include "../../../core/src/operations/call" calls
local windows = {}
--- @include "time-window"
--- @include "call-window"
--- @include "period"

local BEGAN_WIDTH, LONGEST = 7, 16384 -- bytes
local NUMBERS = 12 -- of a reply
local policies, calls = {}, 0

local function policyOf(description)
  local policy = policies[description]
  if policy then
    return policy
  end
  local words = string.gmatch(description, "%S+")
  local function number()
    return tonumber(words())
  end
  policy = {
    window = windows[words()](),
    size = number(),
    minimumCalls = number(),
    minimumSuccessRate = number(),
    slowCallRate = number(),
    probes = number(),
    lease = number(),
    ramp = number(),
    openFor = {},
  }
  for word in words do
    policy.openFor[#policy.openFor + 1] = tonumber(word)
  end
  policies[description] = policy
  return policy
end

-- What a key holds: its bytes, or nil where there is none, or more than a window of 10,000 calls takes; then whether it holds a value
-- of a wrong type.
local function readKey(key)
  local bytes, isWrongType = runTyped("GETRANGE", key, "0", LONGEST)
  return bytes and bytes ~= "" and #bytes <= LONGEST and bytes or nil, isWrongType
end

local function emptyWindow(target)
  target.window = target.policy.window.fresh(now, target.policy.size)
  target.window.began, target.window.dirty = now, true
  target.period.emptied = now
end

-- Reads the window behind the 7 bytes that say when it began, and brings it to the present.
local function openWindow(target, bytes)
  local policy = target.policy
  local window = bytes and #bytes > BEGAN_WIDTH and policy.window.unpack(string.sub(bytes, BEGAN_WIDTH + 1), policy.size)
  local began = window and struct.unpack(">I7", bytes)
  if not window or began < target.period.emptied then
    window, began = policy.window.fresh(now, policy.size), now
  end
  window.began, window.dirty = began, policy.window.advance(window, now, policy.size)
  target.window = window
end

-- The target that the next two keys and the next argument name, brought to the present; nil when a key of it holds a value of a wrong type.
local function nextTarget()
  keyAt, argumentAt, calls = keyAt + 2, argumentAt + 1, calls + 1
  local policy = policyOf(ARGV[argumentAt])
  local target = {
    policy = policy,
    periodKey = KEYS[keyAt - 1],
    windowKey = KEYS[keyAt],
    id = (generation + calls) % (2 ^ 48 - 1) + 1, -- of what begins with this call
  }
  local periodBytes, isWrongType = readKey(target.periodKey)
  local windowBytes, isWrongTypeToo = readKey(target.windowKey)
  if isWrongType or isWrongTypeToo then
    return nil
  end
  local period = periodBytes and unpackPeriod(periodBytes) or absentPeriod()
  target.period = advancePeriod(period, policy, target.id)
  openWindow(target, windowBytes)
  return target
end

-- Writes what has changed, and reports how the target is doing, with the answer to what was asked.
local function writeTarget(target, permit)
  local period, window, policy = target.period, target.window, target.policy
  if period.dirty then
    redis.call("SET", target.periodKey, packPeriod(period), "PX", expiryAfter(period.expires - now))
  end
  if window.dirty then
    local bytes = struct.pack(">I7", window.began) .. policy.window.pack(window)
    redis.call("SET", target.windowKey, bytes, "PX", expiryAfter(policy.window.expiry(policy.size)))
  end
  for _, integer in ipairs({
    period.kind, period.id, leftOf(period, policy), period.opened,
    period.calls, period.failures, period.slow,
    window.calls, window.failures, window.slow,
    permit, period.changed and 1 or 0,
  }) do
    add(integer)
  end
end
