--[[
Sliding window over counters of sub-windows. Twin of sliding-window.ts.

State  age: microseconds since the current sub-window began. Then counts: the current sub-window, the one before, to as many
       as there are buckets before.
Quota  limit. size: microseconds of a sub-window. buckets: how many make up the window.
       One bucket: the previous window counts by the share of it that the sliding window still covers.
       Several: the oldest, partly covered, counts whole.
]]
if name == "window" then
  limit = { limit = first + 0, size = second + 0, buckets = third + 0 }
  limit.format, limit.numbers = "I6" .. string.rep("I4", limit.buckets + 1), limit.buckets + 2
  if not algorithms.window then
    -- Units that count against the limit, rounded up to whole ones.
    local function used(state, at, quota)
      local current, buckets = state[at + 1], quota.buckets
      if buckets == 1 then
        local size = quota.size
        local units, part = mulDiv(size - state[at], state[at + 2], size)
        return current + units + (part > 0 and 1 or 0)
      end
      for i = at + 2, at + buckets + 1 do
        current = current + state[i]
      end
      return current
    end

    -- Microseconds until `count` units, counting less and less through a whole sub-window, count at most `room`.
    local function fade(count, room, size)
      if room >= count then
        return 0
      end
      return size - (mulDiv(room, size, count))
    end

    -- Microseconds until at most `room` units count.
    local function waitFor(state, at, quota, room)
      local size, age, buckets = quota.size, state[at], quota.buckets
      if buckets == 1 then
        local current = state[at + 1]
        if current <= room then
          return fade(state[at + 2], room - current, size) - age
        end
        return size - age + fade(current, room, size)
      end
      -- The oldest sub-window leaves first, the others one after another.
      local oldest, left = at + buckets + 1, size - age
      local total = used(state, at, quota) - state[oldest]
      while total > room do
        oldest = oldest - 1
        total = total - state[oldest]
        left = left + size
      end
      return left
    end

    local window = {
      -- Returns false for garbage.
      advance = function(state, at, quota, elapsed, now)
        local age, size, limit, buckets = state[at], quota.size, quota.limit, quota.buckets
        if age >= size or state[at + 1] > limit or used(state, at, quota) > limit then
          return false
        end
        local total = age + elapsed
        age = total % size
        if total > age then
          local shift = (total - age) / size
          for i = at + buckets + 1, at + 1, -1 do
            state[i] = i - shift > at and state[i - shift] or 0
          end
        end
        for i = at + 1, at + buckets + 1 do
          if state[i] > 0 then
            state[at] = age
            return true
          end
        end
        state[at] = now % size
        return true
      end,

      wait = function(state, at, quota, cost)
        local room = quota.limit - cost
        if room < 0 then
          return NEVER
        end
        if used(state, at, quota) <= room then
          return 0
        end
        return waitFor(state, at, quota, room)
      end,

      spend = function(state, at, _, cost)
        state[at + 1] = state[at + 1] + cost
      end,

      report = function(state, at, quota)
        local limit, buckets = quota.limit, quota.buckets
        local remaining = limit - used(state, at, quota)
        for i = at + 1, at + buckets + 1 do
          if state[i] > 0 then
            local reset = (at + buckets + 2 - i) * quota.size - state[at]
            return remaining, reset, remaining < limit and waitFor(state, at, quota, limit - remaining - 1) or 0
          end
        end
        return remaining, 0, 0
      end,
    }

    if givesBack then
      -- Only into the sub-window that was charged, while it counts.
      function window.refund(state, at, quota, cost, age)
        local index = 1
        if age > state[at] then
          index = 1 + math.ceil((age - state[at]) / quota.size)
        end
        local count = index <= quota.buckets + 1 and state[at + index] or 0
        if count == 0 then
          return false
        end
        state[at + index] = count > cost and count - cost or 0
        return true
      end
    end
    algorithms.window = window
  end
end
