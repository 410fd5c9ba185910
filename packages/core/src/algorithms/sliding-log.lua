--[[
Sliding log: every admitted request in (now - window, now]. Twin of sliding-log.ts.

State  entries: one per admitted decision, oldest first, each the time it came and the running total of units through it.
       base: the running total before the oldest. total: the running total through the newest.
       clock: microseconds on the log's own clock, which starts with its first entry and never steps back.
Quota  limit. window: microseconds.

What is told is never negative, and a denial always waits: an entry that does not fit in its log must not pass for a pardon.
]]
algorithms.log = function()
  local NEWER = 1000 -- a refund rewrites at most so many newer entries
  local openEntries = defineEntries()

  -- How many leading entries satisfy a condition that, once false, stays false. O(log answer).
  local function leading(count, holds)
    local low, high = 0, 1
    while high <= count and holds(high) do
      low, high = high, high * 2
    end
    high = math.min(high, count + 1)
    while high - low > 1 do
      local middle = math.floor((low + high) / 2)
      if holds(middle) then
        low = middle
      else
        high = middle
      end
    end
    return low
  end

  local log = {}

  function log.quota(argument)
    return { limit = argument(), window = argument() }
  end

  function log.fresh()
    return { entries = openEntries(0, 0, 0), base = 0, total = 0, clock = 0 }
  end

  function log.width()
    return 31
  end

  function log.unpack(bytes, position)
    local first, count, size, base, total, clock = struct.unpack(">I4I4I4I6I6I7", bytes, position)
    return { entries = openEntries(first, count, size), base = base, total = total, clock = clock }
  end

  function log.pack(state)
    local first, count, size = state.entries:geometry()
    return struct.pack(">I4I4I4I6I6I7", first, count, size, state.base, state.total, state.clock)
  end

  function log.isSane(state, quota)
    local first, count, size = state.entries:geometry()
    local used = state.total - state.base
    return count <= size and count <= used and used <= quota.limit and first <= size and size <= quota.limit
  end

  function log.copy(state)
    return { entries = state.entries:copy(), base = state.base, total = state.total, clock = state.clock }
  end

  function log.advance(state, quota, elapsed)
    local entries = state.entries
    state.clock = state.clock + elapsed
    local horizon = state.clock - quota.window
    local expired = leading(entries:count(), function(i)
      return entries:time(i) <= horizon
    end)
    if expired > 0 then
      state.base = entries:total(expired)
      entries:drop(expired)
    end
    if entries:count() == 0 then
      state.base, state.total, state.clock = 0, 0, 0
    end
  end

  function log.wait(state, quota, cost)
    if cost > quota.limit then
      return NEVER
    end
    local excess = state.total - state.base + cost - quota.limit
    if excess <= 0 then
      return 0
    end
    local entries = state.entries
    local short = leading(entries:count() - 1, function(i)
      return entries:total(i) - state.base < excess
    end)
    return math.max(1, entries:time(short + 1) + quota.window - state.clock)
  end

  function log.spend(state, _, cost)
    state.total = state.total + cost
    state.entries:append(state.clock, state.total)
  end

  -- Entries of one time and cost are alike, so any of them may be the one that goes.
  function log.refund(state, _, cost, age)
    local entries, time = state.entries, state.clock - age
    local count = entries:count()
    for i = count, math.max(1, count - NEWER), -1 do
      if entries:time(i) < time then
        return false
      end
      local before = i > 1 and entries:total(i - 1) or state.base
      if entries:time(i) == time and entries:total(i) - before == cost then
        for newer = i + 1, count do
          entries:set(newer - 1, entries:time(newer), entries:total(newer) - cost)
        end
        entries:pop()
        state.total = state.total - cost
        return true
      end
    end
    return false
  end

  function log.report(state, quota)
    local entries = state.entries
    local remaining, count = quota.limit - (state.total - state.base), entries:count()
    if count == 0 then
      return remaining, 0, 0
    end
    local ahead = quota.window - state.clock
    return remaining, math.max(0, entries:time(count) + ahead), math.max(0, entries:time(1) + ahead)
  end

  return log
end
