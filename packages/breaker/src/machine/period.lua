--[[
How a target is doing: one period after the other, each of one kind. Twin of period.ts.

  1 byte   kind: 0 closed, 1 open, 2 half-open, 3 forced open, 4 disabled, 5 metrics only
  6 bytes  a number that tells this period from every other
  7 bytes  since: the clock when it began; then 7 bytes when it ends (open), or when its ramp does (closed);
           then 7 bytes when the record is as good as absent
  7 bytes  when the window was last emptied: a window of another policy that began before holds nothing that counts
  2 bytes  how often it opened in a row
  5 bytes  each: calls, failures and slow calls that caused it
  2 bytes  each, half-open: trial calls that have ended, failures and slow calls among them
  then for each trial call under way: 6 bytes its lease, 7 bytes the clock when that began, 7 bytes when it ends
A target without a record is closed, in period 0. All times are microseconds since the epoch.
]]
local CLOSED, OPEN, HALF_OPEN, FORCED_OPEN, DISABLED, METRICS_ONLY = 0, 1, 2, 3, 4, 5
local RECORD, RECORD_WIDTH, LEASE_WIDTH = ">BI6I7I7I7I7I2I5I5I5I2I2I2", 58, 20
local A_DAY, MOST_OPENED = 86400000000, 65535

local function absentPeriod()
  return {
    kind = CLOSED, id = 0, since = now, ends = 0, expires = 0, emptied = 0, opened = 0,
    calls = 0, failures = 0, slow = 0,
    done = 0, doneFailures = 0, doneSlow = 0, leases = {},
  }
end

-- nil where the bytes are no period.
local function unpackPeriod(bytes)
  if #bytes < RECORD_WIDTH or (#bytes - RECORD_WIDTH) % LEASE_WIDTH > 0 or string.byte(bytes) > METRICS_ONLY then
    return nil
  end
  local period = { leases = {} }
  period.kind, period.id, period.since, period.ends, period.expires, period.emptied, period.opened,
    period.calls, period.failures, period.slow,
    period.done, period.doneFailures, period.doneSlow = struct.unpack(RECORD, bytes)
  for position = RECORD_WIDTH + 1, #bytes, LEASE_WIDTH do
    local id, since, ends = struct.unpack(">I6I7I7", bytes, position)
    period.leases[#period.leases + 1] = { id = id, since = since, ends = ends }
  end
  return period
end

local function packPeriod(period)
  local bytes = struct.pack(
    RECORD, period.kind, period.id, period.since, period.ends, period.expires, period.emptied, period.opened,
    period.calls, period.failures, period.slow,
    period.done, period.doneFailures, period.doneSlow
  )
  for _, lease in ipairs(period.leases) do
    bytes = bytes .. struct.pack(">I6I7I7", lease.id, lease.since, lease.ends)
  end
  return bytes
end

-- Begins a period in place of another; `counts` are the numbers that caused it.
local function begin(period, kind, id, counts)
  period.kind, period.id, period.since, period.ends = kind, id, now, 0
  period.calls, period.failures, period.slow = counts.calls, counts.failures, counts.slow
  period.done, period.doneFailures, period.doneSlow, period.leases = 0, 0, 0, {}
  period.dirty, period.changed = true, true
end

-- Opens for as long as the policy says, or for a time that is given.
local function beginOpen(period, policy, id, counts, lasts)
  begin(period, OPEN, id, counts)
  period.opened = math.min(period.opened + 1, MOST_OPENED)
  period.ends = now + (lasts or policy.openFor[math.min(period.opened, #policy.openFor)])
  period.expires = period.ends + A_DAY
end

local function beginHalfOpen(period, id)
  begin(period, HALF_OPEN, id, period)
  period.expires = now + A_DAY
end

-- What was let through before must not count after: the record stays for a day, the longest window and ramp that there is.
local function beginClosed(period, id, counts, ramp)
  begin(period, CLOSED, id, counts)
  period.opened, period.ends, period.expires = 0, now + ramp, now + A_DAY
end

-- A state set by hand stays for as long as somebody asks for it once in a week.
local function beginByHand(period, kind, id, counts)
  begin(period, kind, id, counts)
  period.expires = now + 7 * A_DAY
end

-- The clock stepped back. What is left of a period, or of a lease, is no longer than when it began.
local function stepBack(period)
  if period.since > now then
    local step = period.since - now
    period.since, period.ends, period.expires = now, math.max(period.ends - step, 0), period.expires - step
    period.emptied = math.min(period.emptied, now)
    period.dirty = true
  end
  for _, lease in ipairs(period.leases) do
    if lease.since > now then
      lease.since, lease.ends, period.dirty = now, lease.ends - (lease.since - now), true
    end
  end
end

-- Whether so many calls are worse than the policy wants.
local function isBad(policy, calls, failures, slow)
  return (calls - failures) / calls < policy.minimumSuccessRate or slow / calls >= policy.slowCallRate
end

-- Ends a half-open period when it has all its trial calls. Returns whether it closed, and the window is to be emptied.
local function decide(period, policy, id)
  if period.done < policy.probes then
    return false
  end
  local counts = { calls = period.done, failures = period.doneFailures, slow = period.doneSlow }
  if isBad(policy, counts.calls, counts.failures, counts.slow) then
    beginOpen(period, policy, id, counts)
    return false
  end
  beginClosed(period, id, counts, policy.ramp)
  period.emptied = now
  return true
end

-- Brings a period to the present; returns it, or the one that came after it.
local function advancePeriod(period, policy, id)
  if period.id == 0 then
    return period
  end
  stepBack(period)
  if period.expires <= now then
    return absentPeriod()
  end
  if period.kind == OPEN and period.ends <= now then
    beginHalfOpen(period, id)
  elseif period.kind == HALF_OPEN then
    decide(period, policy, id) -- another policy may have wanted more trial calls
  elseif period.kind >= FORCED_OPEN and period.expires < now + 6 * A_DAY then
    period.expires, period.dirty = now + 7 * A_DAY, true
  end
  return period
end

-- Whether outcomes of calls that were admitted in the period `admitted`, -1 for any, are counted now.
local function isCounted(period, admitted)
  if period.kind ~= CLOSED and period.kind ~= METRICS_ONLY then
    return false
  end
  return period.id == 0 or admitted == -1 or admitted == period.id
end

-- Opens when the window holds enough calls, and they are bad.
local function judge(period, policy, id, window)
  local calls = window.calls
  if period.kind ~= CLOSED or calls < policy.minimumCalls then
    return
  end
  if isBad(policy, calls, window.failures, window.slow) then
    beginOpen(period, policy, id, window)
  end
end

-- Ends a trial call: with 0, and 1 more for a failure, 2 more for a slow call, or with -1 for one that says nothing. Returns
-- whether the window is to be emptied.
local function settle(period, policy, id, lease, outcome)
  local found
  for i, other in ipairs(period.leases) do
    if other.id == lease and other.ends > now then
      found = i
    end
  end
  if not found then
    return false
  end
  table.remove(period.leases, found)
  period.dirty, period.expires = true, now + policy.lease + A_DAY
  if outcome < 0 then
    return false
  end
  period.done = period.done + 1
  period.doneFailures = period.doneFailures + outcome % 2
  period.doneSlow = period.doneSlow + math.floor(outcome / 2)
  return decide(period, policy, id)
end

-- Asks for a call: 0 no, -1 yes, or the lease of a trial call.
local function ask(period, policy, id)
  if period.kind == OPEN or period.kind == FORCED_OPEN then
    return 0
  end
  if period.kind ~= HALF_OPEN then
    return -1
  end
  local held = {}
  for _, lease in ipairs(period.leases) do
    if lease.ends > now then
      held[#held + 1] = lease
    end
  end
  period.leases = held
  if period.done + #held >= policy.probes then
    return 0
  end
  held[#held + 1] = { id = id, since = now, ends = now + policy.lease }
  period.dirty, period.expires = true, now + policy.lease + A_DAY
  return id
end

-- Microseconds until the period changes by time alone: an open one ends, a ramp does, a place for a trial call is free.
local function leftOf(period, policy)
  if period.kind ~= HALF_OPEN then
    return math.max(period.ends - now, 0)
  end
  local left, held = policy.lease, 0
  for _, lease in ipairs(period.leases) do
    if lease.ends > now then
      left, held = math.min(left, lease.ends - now), held + 1
    end
  end
  return period.done + held >= policy.probes and left or 0
end
