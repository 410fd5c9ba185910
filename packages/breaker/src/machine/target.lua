--[[
A target: the key of its period, the key of its window, and the policy of the call. A policy is a text of fields, separated by
spaces: the kind of its window, the window's size, the minimum of calls, the minimum success rate, the slow call rate that
opens, trial calls, microseconds of a lease and of the ramp, then microseconds of the first, second, ... opening in a row
]]
--- @include "../../../core/src/operations/call" calls
local windows = {}
--- @include "time-window"
--- @include "call-window"
--- @include "period"

local BEGAN_AT_WIDTH, MAX_VALUE_LENGTH = 7, 16384 -- bytes
local REPLY_SIZE = 12 -- integers of a call
local policies, callNumber = {}, 0

local function policyOf(description)
  local policy = policies[description]
  if policy then
    return policy
  end
  local fields = string.gmatch(description, "%S+")
  local function number()
    return tonumber(fields())
  end
  policy = {
    window = windows[fields()](),
    windowSize = number(),
    minimumCalls = number(),
    minimumSuccessRate = number(),
    slowCallRate = number(),
    trialCalls = number(),
    leaseMicros = number(),
    rampUpMicros = number(),
    openForMicros = {},
  }
  for field in fields do
    policy.openForMicros[#policy.openForMicros + 1] = tonumber(field)
  end
  policies[description] = policy
  return policy
end

-- Returns the value of a key, or nil if it is absent or longer than a window of 10,000 calls; then whether it is of the wrong type.
local function readKey(key)
  local bytes, isWrongType = runTyped("GETRANGE", key, "0", MAX_VALUE_LENGTH)
  return bytes and bytes ~= "" and #bytes <= MAX_VALUE_LENGTH and bytes or nil, isWrongType
end

local function emptyWindow(target)
  target.window = target.policy.window.createEmpty(now, target.policy.windowSize)
  target.window.beganAt, target.window.isDirty = now, true
  target.period.windowEmptiedAt = now
end

-- Reads the window, after 7 bytes with the time when it began, and forgets outcomes that no longer count.
local function loadWindow(target, bytes)
  local policy = target.policy
  local window = bytes and #bytes > BEGAN_AT_WIDTH and policy.window.unpack(string.sub(bytes, BEGAN_AT_WIDTH + 1), policy.windowSize)
  local beganAt = window and struct.unpack(">I7", bytes)
  if not window or beganAt < target.period.windowEmptiedAt then
    window, beganAt = policy.window.createEmpty(now, policy.windowSize), now
  end
  window.beganAt, window.isDirty = beganAt, policy.window.advance(window, now, policy.windowSize)
  target.window = window
end

-- Reads the target of the next two keys and the next argument, with the changes that are due by time. Returns nil if a key holds a
-- value of the wrong type.
local function loadTarget()
  keyAt, argumentAt, callNumber = keyAt + 2, argumentAt + 1, callNumber + 1
  local policy = policyOf(ARGV[argumentAt])
  local target = {
    policy = policy,
    periodKey = KEYS[keyAt - 1],
    windowKey = KEYS[keyAt],
    id = (generation + callNumber) % (2 ^ 48 - 1) + 1, -- of a period or lease that this call begins
  }
  local periodBytes, isWrongType = readKey(target.periodKey)
  local windowBytes, isWrongTypeToo = readKey(target.windowKey)
  if isWrongType or isWrongTypeToo then
    return nil
  end
  local period = periodBytes and unpackPeriod(periodBytes) or createInitialPeriod()
  target.period = advancePeriod(period, policy, target.id)
  loadWindow(target, windowBytes)
  return target
end

-- Writes the changes, and adds the target's state and the decision to the reply.
local function saveTarget(target, decision)
  local period, window, policy = target.period, target.window, target.policy
  if period.isDirty then
    redis.call("SET", target.periodKey, packPeriod(period), "PX", expiryAfter(period.expiresAt - now))
  end
  if window.isDirty then
    local bytes = struct.pack(">I7", window.beganAt) .. policy.window.pack(window)
    redis.call("SET", target.windowKey, bytes, "PX", expiryAfter(policy.window.retentionMicros(policy.windowSize)))
  end
  for _, integer in ipairs({
    period.state, period.id, microsUntilChange(period, policy), period.openings,
    period.calls, period.failures, period.slowCalls,
    window.calls, window.failures, window.slowCalls,
    decision, period.isNew and 1 or 0,
  }) do
    add(integer)
  end
end
