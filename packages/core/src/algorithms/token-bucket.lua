--[[
Token bucket, counted as debt: what was spent and has not come back. Twin of token-bucket.ts. GCRA is the same
arithmetic told in other words, and uses it.

State  whole, part: the debt is whole + part / every units; it is never above capacity.
Quota  capacity: the most units at once. refill units come back every `every` microseconds, continuously;
       refill <= every, both reduced by their common divisor.
Source ITU-T I.371 (GCRA as a continuous-state leaky bucket); capacity minus debt is the level of a token bucket.
]]
algorithms.bucket = function()
  -- Microseconds in which a debt of whole + part / every drains, rounded up.
  local function drainTime(quota, whole, part)
    local refill, every = quota.refill, quota.every
    local odd = whole % refill
    local micros, rest = mulDiv(odd, every, refill)
    local last = (rest + part) % refill
    local time = (whole - odd) / refill * every + micros + (rest + part - last) / refill + (last > 0 and 1 or 0)
    return time < LONGEST and time or LONGEST
  end

  -- Lets `elapsed` microseconds of refill reduce the debt.
  local function drain(debt, quota, elapsed)
    local refill, every = quota.refill, quota.every
    local odd = elapsed % every
    local turned = (elapsed - odd) / every * refill
    if turned > debt.whole then
      debt.whole, debt.part = 0, 0
      return
    end
    local units, rest = mulDiv(odd, refill, every)
    local whole, part = debt.whole - turned - units, debt.part - rest
    if part < 0 then
      whole, part = whole - 1, part + every
    end
    if whole < 0 then
      whole, part = 0, 0
    end
    debt.whole, debt.part = whole, part
  end

  local bucket = {}

  function bucket.quota(argument)
    return { capacity = argument(), refill = argument(), every = argument() }
  end

  function bucket.fresh()
    return { whole = 0, part = 0 }
  end

  function bucket.width()
    return 10
  end

  function bucket.unpack(bytes, position)
    local whole, part = struct.unpack(">I4I6", bytes, position)
    return { whole = whole, part = part }
  end

  function bucket.pack(state)
    return struct.pack(">I4I6", state.whole, state.part)
  end

  function bucket.isSane(state, quota)
    return state.part < quota.every
      and (state.whole < quota.capacity or (state.whole == quota.capacity and state.part == 0))
  end

  function bucket.copy(state)
    return { whole = state.whole, part = state.part }
  end

  function bucket.advance(state, quota, elapsed)
    if elapsed > 0 and (state.whole > 0 or state.part > 0) then
      drain(state, quota, elapsed)
    end
  end

  function bucket.wait(state, quota, cost)
    if cost > quota.capacity then
      return NEVER
    end
    local excess = state.whole + cost - quota.capacity
    if excess < 0 or (excess == 0 and state.part == 0) then
      return 0
    end
    return drainTime(quota, excess, state.part)
  end

  function bucket.spend(state, _, cost)
    state.whole = state.whole + cost
  end

  -- What is left of a charge is at least its cost less all that drained since: giving back that much can never
  -- leave more room than if it had not been asked.
  function bucket.refund(state, quota, cost, age)
    local left = { whole = cost, part = 0 }
    drain(left, quota, age)
    if left.whole == 0 and left.part == 0 then
      return false
    end
    state.whole, state.part = state.whole - left.whole, state.part - left.part
    if state.part < 0 then
      state.whole, state.part = state.whole - 1, state.part + quota.every
    end
    return true
  end

  function bucket.report(state, quota)
    local whole, part = state.whole, state.part
    if part > 0 then
      return quota.capacity - whole - 1, drainTime(quota, whole, part), drainTime(quota, 0, part)
    end
    if whole > 0 then
      return quota.capacity - whole, drainTime(quota, whole, 0), drainTime(quota, 1, 0)
    end
    return quota.capacity, 0, 0
  end

  return bucket
end
