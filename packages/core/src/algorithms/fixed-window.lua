--[[
Fixed window: a counter that starts from zero in every window. Twin of fixed-window.ts.

State  used: units spent in the window. age: microseconds since the window began.
Quota  limit. window: microseconds. aligned: 1 when windows are multiples since the Unix epoch, 0 when a window
       begins with the first request after the last one ended.
]]
algorithms.fixed = function()
  local fixed = {}

  function fixed.quota(argument)
    return { limit = argument(), window = argument(), aligned = argument() }
  end

  function fixed.fresh()
    return { used = 0, age = 0 }
  end

  function fixed.width()
    return 10
  end

  function fixed.unpack(bytes, position)
    local used, age = struct.unpack(">I4I6", bytes, position)
    return { used = used, age = age }
  end

  function fixed.pack(state)
    return struct.pack(">I4I6", state.used, state.age)
  end

  function fixed.isSane(state, quota)
    return state.used <= quota.limit and state.age < quota.window
  end

  function fixed.copy(state)
    return { used = state.used, age = state.age }
  end

  function fixed.advance(state, quota, elapsed, now)
    state.age = state.age + elapsed
    if state.used == 0 or state.age >= quota.window then
      state.used = 0
      state.age = quota.aligned == 1 and now % quota.window or 0
    end
  end

  function fixed.wait(state, quota, cost)
    if cost > quota.limit then
      return NEVER
    end
    return state.used + cost <= quota.limit and 0 or quota.window - state.age
  end

  function fixed.spend(state, _, cost)
    state.used = state.used + cost
  end

  -- Only into the window that was charged.
  function fixed.refund(state, _, cost, age)
    if age > state.age or state.used == 0 then
      return false
    end
    state.used = math.max(0, state.used - cost)
    return true
  end

  function fixed.report(state, quota)
    local reset = state.used > 0 and quota.window - state.age or 0
    return quota.limit - state.used, reset, reset
  end

  return fixed
end
