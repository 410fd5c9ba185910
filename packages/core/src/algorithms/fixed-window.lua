--[[
Fixed window: a counter that starts from zero in every window. Twin of fixed-window.ts.

State  used: units spent in the window. age: microseconds since the window began.
Quota  limit. window: microseconds. aligned: 1 when windows are multiples since the Unix epoch, 0 when a window
       begins with the first request after the last one ended.
]]
if name == "fixed" then
  limit = { limit = first + 0, window = second + 0, aligned = third + 0, format = "I4I6", numbers = 2 }
  if not algorithms.fixed then
    local fixed = {
      -- Returns false for garbage.
      advance = function(state, at, quota, elapsed, now)
        local used, age, window = state[at], state[at + 1], quota.window
        if used > quota.limit or age >= window then
          return false
        end
        age = age + elapsed
        if used == 0 or age >= window then
          state[at], age = 0, quota.aligned == 1 and now % window or 0
        end
        state[at + 1] = age
        return true
      end,

      wait = function(state, at, quota, cost)
        local limit = quota.limit
        if state[at] + cost <= limit then
          return 0
        end
        return cost > limit and NEVER or quota.window - state[at + 1]
      end,

      spend = function(state, at, _, cost)
        state[at] = state[at] + cost
      end,

      report = function(state, at, quota)
        local used = state[at]
        local reset = used > 0 and quota.window - state[at + 1] or 0
        return quota.limit - used, reset, reset
      end,
    }

    if givesBack then
      -- Only into the window that was charged.
      function fixed.refund(state, at, _, cost, age)
        local used = state[at]
        if age > state[at + 1] or used == 0 then
          return false
        end
        state[at] = used > cost and used - cost or 0
        return true
      end
    end
    algorithms.fixed = fixed
  end
end
