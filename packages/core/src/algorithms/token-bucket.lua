--[[
Token bucket, counted as debt: what was spent and has not come back. Twin of token-bucket.ts. GCRA is the same
arithmetic told in other words, and uses it.

State  whole, part: the debt is whole + part / every units; it is never above capacity.
Quota  capacity: the most units at once. refill units come back every `every` microseconds, continuously;
       refill <= every, both reduced by their common divisor.
Source ITU-T I.371 (GCRA as a continuous-state leaky bucket); capacity minus debt is the level of a token bucket.
]]
if name == "bucket" then
  limit = { capacity = first + 0, refill = second + 0, every = third + 0, format = "I4I6", numbers = 2 }
  if not algorithms.bucket then
    -- Microseconds in which a debt of whole + part / every drains, rounded up.
    local function drainTime(quota, whole, part)
      local refill, every = quota.refill, quota.every
      local debt = whole * every + part
      if debt <= LONGEST then
        local rest = debt % refill
        return (debt - rest) / refill + (rest > 0 and 1 or 0)
      end
      local micros, rest = mulDiv(whole, every, refill)
      local last = (rest + part) % refill
      local time = micros + (rest + part - last) / refill + (last > 0 and 1 or 0)
      return time < LONGEST and time or LONGEST
    end

    -- What `elapsed` microseconds of refill leave of a debt.
    local function drain(quota, whole, part, elapsed)
      local units, rest = mulDiv(elapsed, quota.refill, quota.every)
      whole, part = whole - units, part - rest
      if part < 0 then
        whole, part = whole - 1, part + quota.every
      end
      if whole < 0 then
        return 0, 0
      end
      return whole, part
    end

    local bucket = {
      -- Returns false for garbage.
      advance = function(state, at, quota, elapsed)
        local whole, part, spare = state[at], state[at + 1], quota.capacity - state[at]
        if spare < 0 or part >= quota.every or (spare == 0 and part > 0) then
          return false
        end
        if elapsed > 0 and (whole > 0 or part > 0) then
          state[at], state[at + 1] = drain(quota, whole, part, elapsed)
        end
        return true
      end,

      wait = function(state, at, quota, cost)
        local excess = state[at] + cost - quota.capacity
        if excess < 0 or (excess == 0 and state[at + 1] == 0) then
          return 0
        end
        if cost > quota.capacity then
          return NEVER
        end
        return drainTime(quota, excess, state[at + 1])
      end,

      spend = function(state, at, _, cost)
        state[at] = state[at] + cost
      end,

      report = function(state, at, quota)
        local whole, part = state[at], state[at + 1]
        if part > 0 then
          return quota.capacity - whole - 1, drainTime(quota, whole, part), drainTime(quota, 0, part)
        end
        if whole > 0 then
          return quota.capacity - whole, drainTime(quota, whole, 0), drainTime(quota, 1, 0)
        end
        return quota.capacity, 0, 0
      end,
    }

    if givesBack then
      -- What is left of a charge is at least its cost less all that drained since: giving back that much can never
      -- leave more room than if it had not been asked.
      function bucket.refund(state, at, quota, cost, age)
        local leftWhole, leftPart = drain(quota, cost, 0, age)
        if leftWhole == 0 and leftPart == 0 then
          return false
        end
        local whole, part = state[at] - leftWhole, state[at + 1] - leftPart
        if part < 0 then
          whole, part = whole - 1, part + quota.every
        end
        state[at], state[at + 1] = whole, part
        return true
      end
    end
    algorithms.bucket = bucket
  end
end
