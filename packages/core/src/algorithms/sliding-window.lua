--[[
Sliding window over counters of sub-windows. Twin of sliding-window.ts.

State  age: microseconds since the current sub-window began. counts[1] is the current sub-window,
       counts[2] the one before, to counts[buckets + 1].
Quota  limit. size: microseconds of a sub-window. buckets: how many make up the window.
       One bucket: the previous window counts by the share of it that the sliding window still covers.
       Several: the oldest, partly covered, counts whole.
]]
algorithms.window = function()
  local window = {}

  local function sum(counts, from, to)
    local total = 0
    for i = from, to do
      total = total + counts[i]
    end
    return total
  end

  -- Units that count against the limit, rounded up to whole ones.
  local function used(state, quota)
    local counts = state.counts
    if quota.buckets > 1 then
      return sum(counts, 1, quota.buckets + 1)
    end
    local units, part = mulDiv(quota.size - state.age, counts[2], quota.size)
    return counts[1] + units + (part > 0 and 1 or 0)
  end

  -- Microseconds until `count` units, counting less and less through a whole sub-window, count at most `room`.
  local function fade(count, room, size)
    if room >= count then
      return 0
    end
    return size - (mulDiv(room, size, count))
  end

  local function isUnused(counts)
    for i = 1, #counts do
      if counts[i] > 0 then
        return false
      end
    end
    return true
  end

  function window.quota(argument)
    return { limit = argument(), size = argument(), buckets = argument() }
  end

  function window.fresh(quota)
    local counts = {}
    for i = 1, quota.buckets + 1 do
      counts[i] = 0
    end
    return { age = 0, counts = counts }
  end

  function window.width(quota)
    return 6 + 4 * (quota.buckets + 1)
  end

  function window.unpack(bytes, position, quota)
    local counts = { struct.unpack(">I6" .. string.rep("I4", quota.buckets + 1), bytes, position) }
    counts[#counts] = nil -- the position after the last
    return { age = table.remove(counts, 1), counts = counts }
  end

  function window.pack(state)
    return struct.pack(">I6" .. string.rep("I4", #state.counts), state.age, unpack(state.counts))
  end

  function window.isSane(state, quota)
    return state.age < quota.size and used(state, quota) <= quota.limit and state.counts[1] <= quota.limit
  end

  function window.copy(state)
    return { age = state.age, counts = { unpack(state.counts) } }
  end

  function window.advance(state, quota, elapsed, now)
    local counts, total = state.counts, state.age + elapsed
    local shift = math.min(math.floor(total / quota.size), quota.buckets + 1)
    if shift > 0 then
      for i = quota.buckets + 1, 1, -1 do
        counts[i] = i > shift and counts[i - shift] or 0
      end
    end
    state.age = isUnused(counts) and now % quota.size or total % quota.size
  end

  function window.wait(state, quota, cost)
    if cost > quota.limit then
      return NEVER
    end
    local room = quota.limit - cost
    if used(state, quota) <= room then
      return 0
    end
    local counts, left = state.counts, quota.size - state.age
    if quota.buckets > 1 then
      -- The oldest sub-window leaves first, the others one after another.
      local total, oldest = sum(counts, 1, quota.buckets + 1), quota.buckets + 1
      total = total - counts[oldest]
      while total > room do
        oldest = oldest - 1
        total = total - counts[oldest]
        left = left + quota.size
      end
      return left
    end
    if counts[1] <= room then
      return fade(counts[2], room - counts[1], quota.size) - state.age
    end
    return left + fade(counts[1], room, quota.size)
  end

  function window.spend(state, _, cost)
    state.counts[1] = state.counts[1] + cost
  end

  -- Only into the sub-window that was charged, while it counts.
  function window.refund(state, quota, cost, age)
    local index = 1
    if age > state.age then
      index = 1 + math.ceil((age - state.age) / quota.size)
    end
    local count = state.counts[index]
    if count == nil or count == 0 then
      return false
    end
    state.counts[index] = math.max(0, count - cost)
    return true
  end

  function window.report(state, quota)
    local remaining = quota.limit - used(state, quota)
    for i = 1, quota.buckets + 1 do
      if state.counts[i] > 0 then
        local reset = (quota.buckets + 2 - i) * quota.size - state.age
        local growth = remaining < quota.limit and window.wait(state, quota, remaining + 1) or 0
        return remaining, reset, growth
      end
    end
    return remaining, 0, 0
  end

  return window
end
