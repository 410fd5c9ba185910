--[[
Token bucket, counted as debt: what was spent and has not come back. Twin of token-bucket.ts. GCRA is the same
arithmetic told in other words, and uses it.

State  whole, part: the debt is whole + part / every units; it is never above capacity.
Quota  capacity: the most units at once. refill units come back every `every` microseconds, continuously;
       refill <= every, both reduced by their common divisor.
Source ITU-T I.371 (GCRA as a continuous-state leaky bucket); capacity minus debt is the level of a token bucket.
]]
if name == "bucket" then
  local capacity, refill, every = first + 0, second + 0, third + 0
  format, numbers = "I4I6", 2
  -- Microseconds in which a debt of whole + part / every drains, rounded up.
  local function drainTime(whole, part)
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

  function wait(state, cost, elapsed)
    local whole, part = state[at], state[at + 1]
    if part >= every or (whole >= capacity and (whole > capacity or part > 0)) then
      return nil
    end
    if elapsed > 0 then
      local refilled, units, rest = elapsed * refill, nil, nil
      if refilled <= SAFE then
        rest = refilled % every
        units = (refilled - rest) / every
      else
        units, rest = mulDiv(elapsed, refill, every)
      end
      whole, part = whole - units, part - rest
      if part < 0 then
        whole, part = whole - 1, part + every
      end
      if whole < 0 then
        whole, part = 0, 0
      end
      state[at], state[at + 1] = whole, part
    end
    local excess = whole + cost - capacity
    if excess < 0 or (excess == 0 and part == 0) then
      return 0
    end
    return cost > capacity and NEVER or drainTime(excess, part)
  end

  function report(state, cost)
    local whole, part = state[at] + cost, state[at + 1]
    state[at] = whole
    if whole == 0 and part == 0 then
      return capacity, 0, 0
    end
    local remaining, growing = capacity - whole, part
    if part > 0 then
      remaining = remaining - 1
    else
      growing = every
    end
    -- What the next whole unit lacks, in parts of 1 / every, and how long it takes, rounded up.
    local rest = growing % refill
    return remaining, drainTime(whole, part), (growing - rest) / refill + (rest > 0 and 1 or 0)
  end

  if givesBack then
    -- What is left of a charge is at least its cost less all that drained since: giving back that much can never
    -- leave more room than if it had not been asked.
    function refund(state, cost, age)
      local units, rest = mulDiv(age, refill, every)
      if units >= cost then
        return false
      end
      local whole, part = state[at] - cost + units, state[at + 1] + rest
      if part >= every then
        whole, part = whole + 1, part - every
      end
      state[at], state[at + 1] = whole, part
      return true
    end
  end
end
