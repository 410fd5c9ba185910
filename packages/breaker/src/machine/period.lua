--[[
The state of a target: a sequence of periods, each in one state. Twin of period.ts.

  1 byte   state: 0 closed, 1 open, 2 half-open, 3 forced open, 4 disabled, 5 metrics only
  6 bytes  id: different for each period
  7 bytes  each: when it began; when it ends (open), or its ramp does (closed); when the record expires, which is the same as
           having none
  7 bytes  when the window was last emptied: outcomes in a window that began earlier, under another policy, do not count
  2 bytes  openings in a row
  5 bytes  each: calls, failures and slow calls that caused the state
  2 bytes  each, half-open: trial calls that have ended; failures and slow calls among them
  then for each trial call in flight: 6 bytes the id of its lease, 7 bytes when the lease began, 7 bytes when it ends
A target without a record is closed, in period 0. All times are microseconds since the epoch.
]]
local CLOSED, OPEN, HALF_OPEN, FORCED_OPEN, DISABLED, METRICS_ONLY = 0, 1, 2, 3, 4, 5
local RECORD, RECORD_WIDTH, LEASE_WIDTH = ">BI6I7I7I7I7I2I5I5I5I2I2I2", 58, 20
local DAY_MICROS, MAX_OPENINGS = 86400000000, 65535

local function createInitialPeriod()
  return {
    state = CLOSED, id = 0, beganAt = now, endsAt = 0, expiresAt = 0, windowEmptiedAt = 0, openings = 0,
    calls = 0, failures = 0, slowCalls = 0,
    endedTrials = 0, failedTrials = 0, slowTrials = 0, leases = {},
  }
end

-- Returns nil if the bytes are not a period.
local function unpackPeriod(bytes)
  if #bytes < RECORD_WIDTH or (#bytes - RECORD_WIDTH) % LEASE_WIDTH > 0 or string.byte(bytes) > METRICS_ONLY then
    return nil
  end
  local period = { leases = {} }
  period.state, period.id, period.beganAt, period.endsAt, period.expiresAt, period.windowEmptiedAt, period.openings,
    period.calls, period.failures, period.slowCalls,
    period.endedTrials, period.failedTrials, period.slowTrials = struct.unpack(RECORD, bytes)
  for position = RECORD_WIDTH + 1, #bytes, LEASE_WIDTH do
    local id, beganAt, endsAt = struct.unpack(">I6I7I7", bytes, position)
    period.leases[#period.leases + 1] = { id = id, beganAt = beganAt, endsAt = endsAt }
  end
  return period
end

local function packPeriod(period)
  local bytes = struct.pack(
    RECORD, period.state, period.id, period.beganAt, period.endsAt, period.expiresAt, period.windowEmptiedAt, period.openings,
    period.calls, period.failures, period.slowCalls,
    period.endedTrials, period.failedTrials, period.slowTrials
  )
  for _, lease in ipairs(period.leases) do
    bytes = bytes .. struct.pack(">I6I7I7", lease.id, lease.beganAt, lease.endsAt)
  end
  return bytes
end

-- Replaces the period with a new one; `counts` are the calls that caused it.
local function beginPeriod(period, state, id, counts)
  period.state, period.id, period.beganAt, period.endsAt = state, id, now, 0
  period.calls, period.failures, period.slowCalls = counts.calls, counts.failures, counts.slowCalls
  period.endedTrials, period.failedTrials, period.slowTrials, period.leases = 0, 0, 0, {}
  period.isDirty, period.isNew = true, true
end

-- Opens for the given duration, or else for the one of the policy.
local function beginOpen(period, policy, id, counts, durationMicros)
  beginPeriod(period, OPEN, id, counts)
  period.openings = math.min(period.openings + 1, MAX_OPENINGS)
  period.endsAt = now + (durationMicros or policy.openForMicros[math.min(period.openings, #policy.openForMicros)])
  period.expiresAt = period.endsAt + DAY_MICROS
end

local function beginHalfOpen(period, id)
  beginPeriod(period, HALF_OPEN, id, period)
  period.expiresAt = now + DAY_MICROS
end

-- The record stays for a day, the longest possible window and ramp, so that calls admitted earlier do not count.
local function beginClosed(period, id, counts, ramp)
  beginPeriod(period, CLOSED, id, counts)
  period.openings, period.endsAt, period.expiresAt = 0, now + ramp, now + DAY_MICROS
end

-- A manual state stays as long as it is read at least once a week.
local function beginManualState(period, state, id, counts)
  beginPeriod(period, state, id, counts)
  period.expiresAt = now + 7 * DAY_MICROS
end

-- Keeps the rest of a period or lease within its full length when the clock has stepped back.
local function correctForClockStep(period)
  if period.beganAt > now then
    local step = period.beganAt - now
    period.beganAt, period.endsAt, period.expiresAt = now, math.max(period.endsAt - step, 0), period.expiresAt - step
    period.windowEmptiedAt = math.min(period.windowEmptiedAt, now)
    period.isDirty = true
  end
  for _, lease in ipairs(period.leases) do
    if lease.beganAt > now then
      lease.beganAt, lease.endsAt, period.isDirty = now, lease.endsAt - (lease.beganAt - now), true
    end
  end
end

-- Whether these calls are worse than the policy allows.
local function exceedsThresholds(policy, calls, failures, slowCalls)
  return (calls - failures) / calls < policy.minimumSuccessRate or slowCalls / calls >= policy.slowCallRate
end

-- Ends a half-open period once all its trial calls have ended. Returns whether it closed, and the window must be emptied.
local function endHalfOpen(period, policy, id)
  if period.endedTrials < policy.trialCalls then
    return false
  end
  local counts = { calls = period.endedTrials, failures = period.failedTrials, slowCalls = period.slowTrials }
  if exceedsThresholds(policy, counts.calls, counts.failures, counts.slowCalls) then
    beginOpen(period, policy, id, counts)
    return false
  end
  beginClosed(period, id, counts, policy.rampUpMicros)
  period.windowEmptiedAt = now
  return true
end

-- Applies the changes that are due by time. Returns the current period.
local function advancePeriod(period, policy, id)
  if period.id == 0 then
    return period
  end
  correctForClockStep(period)
  if period.expiresAt <= now then
    return createInitialPeriod()
  end
  if period.state == OPEN and period.endsAt <= now then
    beginHalfOpen(period, id)
  elseif period.state == HALF_OPEN then
    endHalfOpen(period, policy, id) -- the last call's policy may need more trial calls than this one
  elseif period.state >= FORCED_OPEN and period.expiresAt < now + 6 * DAY_MICROS then
    period.expiresAt, period.isDirty = now + 7 * DAY_MICROS, true
  end
  return period
end

-- Whether outcomes of calls that were admitted in a period, -1 for any, count now.
local function acceptsOutcomes(period, admittedIn)
  if period.state ~= CLOSED and period.state ~= METRICS_ONLY then
    return false
  end
  return period.id == 0 or admittedIn == -1 or admittedIn == period.id
end

-- Opens if the window holds enough calls and they exceed the policy's thresholds.
local function openIfThresholdsExceeded(period, policy, id, window)
  local calls = window.calls
  if period.state ~= CLOSED or calls < policy.minimumCalls then
    return
  end
  if exceedsThresholds(policy, calls, window.failures, window.slowCalls) then
    beginOpen(period, policy, id, window)
  end
end

-- Ends a trial call, whose outcome counts if its lease has not ended: 0, plus 1 for a failure, plus 2 for a slow call, or -1 to
-- ignore it. Returns whether the window must be emptied.
local function endTrialCall(period, policy, id, leaseId, outcome)
  local found
  for i, lease in ipairs(period.leases) do
    if lease.id == leaseId and lease.endsAt > now then
      found = i
    end
  end
  if not found then
    return false
  end
  table.remove(period.leases, found)
  period.isDirty, period.expiresAt = true, now + policy.leaseMicros + DAY_MICROS
  if outcome < 0 then
    return false
  end
  period.endedTrials = period.endedTrials + 1
  period.failedTrials = period.failedTrials + outcome % 2
  period.slowTrials = period.slowTrials + math.floor(outcome / 2)
  return endHalfOpen(period, policy, id)
end

-- Decides a call: 0 rejected, -1 allowed, or the lease id of a trial call.
local function requestCall(period, policy, id)
  if period.state == OPEN or period.state == FORCED_OPEN then
    return 0
  end
  if period.state ~= HALF_OPEN then
    return -1
  end
  local active = {}
  for _, lease in ipairs(period.leases) do
    if lease.endsAt > now then
      active[#active + 1] = lease
    end
  end
  period.leases = active
  if period.endedTrials + #active >= policy.trialCalls then
    return 0
  end
  active[#active + 1] = { id = id, beganAt = now, endsAt = now + policy.leaseMicros }
  period.isDirty, period.expiresAt = true, now + policy.leaseMicros + DAY_MICROS
  return id
end

-- Microseconds until the period changes by time alone: an open period or a ramp ends, or a slot for a trial call becomes free.
local function microsUntilChange(period, policy)
  if period.state ~= HALF_OPEN then
    return math.max(period.endsAt - now, 0)
  end
  local left, activeCount = policy.leaseMicros, 0
  for _, lease in ipairs(period.leases) do
    if lease.endsAt > now then
      left, activeCount = math.min(left, lease.endsAt - now), activeCount + 1
    end
  end
  return period.endedTrials + activeCount >= policy.trialCalls and left or 0
end
