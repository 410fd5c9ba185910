--[[
Sliding window over counters of sub-windows. Twin of sliding-window.ts.

State  age: microseconds since the current sub-window began. Then counts: of the current sub-window, of the one before, and so
       on, one more than there are buckets.
Quota  limit. size: microseconds of a sub-window. buckets: how many make up the window.
       One bucket: the previous window counts by the share of it that the sliding window still covers.
       Several: the oldest, partly covered, counts whole.
]]
if name == "window" then
  local limit, size, buckets = first + 0, second + 0, third + 0
  local last = at + buckets + 1 -- the place of the oldest count
  format, numbers = buckets == 1 and "I6I4I4" or "I6" .. string.rep("I4", buckets + 1), buckets + 2

  -- Units that count against the limit, rounded up to whole ones.
  local function used(state)
    local current = state[at + 1]
    if buckets == 1 then
      local previous = state[at + 2]
      if previous == 0 then
        return current
      end
      local units, part = mulDiv(size - state[at], previous, size)
      return current + units + (part > 0 and 1 or 0)
    end
    for i = at + 2, last do
      current = current + state[i]
    end
    return current
  end

  -- Microseconds until `count` units, counting less and less through a whole sub-window, count at most `room`.
  local function fade(count, room)
    if room >= count then
      return 0
    end
    return size - (mulDiv(room, size, count))
  end

  -- Microseconds until of the `total` units that count at most `room` do.
  local function fadeTime(state, total, room)
    if buckets == 1 then
      local current = state[at + 1]
      if current <= room then
        return fade(state[at + 2], room - current) - state[at]
      end
      return size - state[at] + fade(current, room)
    end
    -- The oldest sub-window leaves first, the others one after another.
    local oldest, left = last, size - state[at]
    total = total - state[oldest]
    while total > room do
      oldest = oldest - 1
      total = total - state[oldest]
      left = left + size
    end
    return left
  end

  function wait(state, cost, elapsed)
    local age = state[at]
    local total = used(state)
    if age >= size or state[at + 1] > limit or total > limit then
      return nil
    end
    age = age + elapsed
    local isShifted = age >= size
    if isShifted then
      local past = age % size
      local shift = (age - past) / size
      age = past
      for i = last, at + 1, -1 do
        state[i] = i - shift > at and state[i - shift] or 0
      end
    end
    state[at] = age
    if isShifted or buckets == 1 then
      total = used(state)
    end
    if total == 0 then
      state[at] = now % size -- nothing is counted, so the sub-windows can be aligned
    end
    if total + cost <= limit then
      return 0
    end
    return cost > limit and NEVER or fadeTime(state, total, limit - cost)
  end

  function report(state, cost)
    state[at + 1] = state[at + 1] + cost
    local total = used(state)
    for i = at + 1, last do
      if state[i] > 0 then
        local reset = (last + 1 - i) * size - state[at]
        return limit - total, reset, total > 0 and fadeTime(state, total, total - 1) or 0
      end
    end
    return limit, 0, 0
  end

  if givesBack then
    -- Only into the sub-window that was charged, while it counts.
    function refund(state, cost, age)
      local index = 1
      if age > state[at] then
        index = 1 + math.ceil((age - state[at]) / size)
      end
      local count = index <= buckets + 1 and state[at + index] or 0
      if count == 0 then
        return false
      end
      state[at + index] = math.max(0, count - cost)
      return true
    end
  end
end
