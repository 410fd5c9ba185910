--[[
Fixed window: a counter that starts from zero in every window. Twin of fixed-window.ts.

State  used: units spent in the window. age: microseconds since the window began.
Quota  limit. window: microseconds. aligned: 1 when windows are multiples since the Unix epoch, 0 when a window
       begins with the first request after the last one ended.
]]
if name == "fixed" then
  local limit, window, aligned = first + 0, second + 0, third + 0
  format, numbers = "I4I6", 2

  function wait(state, cost, elapsed)
    local used, age = state[at], state[at + 1]
    if used > limit or age >= window then
      return nil
    end
    age = age + elapsed
    if used == 0 or age >= window then
      used, age = 0, aligned == 1 and now % window or 0
      state[at] = 0
    end
    state[at + 1] = age
    if used + cost <= limit then
      return 0
    end
    return cost > limit and NEVER or window - age
  end

  function report(state, cost)
    local used = state[at] + cost
    state[at] = used
    local reset = used > 0 and window - state[at + 1] or 0
    return limit - used, reset, reset
  end

  if givesBack then
    -- Only into the window that was charged.
    function refund(state, cost, age)
      local used = state[at]
      if age > state[at + 1] or used == 0 then
        return false
      end
      state[at] = math.max(0, used - cost)
      return true
    end
  end
end
