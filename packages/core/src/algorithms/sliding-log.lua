--[[
Sliding log: every admitted request in (now - window, now]. Twin of sliding-log.ts.

State  where the entries are: the slot of the oldest, how many there are, how many slots.
       base: the running total before the oldest. total: the running total through the newest.
       clock: microseconds on the log's own clock, which starts with its first entry and never steps back.
       entries, beside these numbers: one per admitted decision, oldest first, each the time it came and the running total of
       units through it.
Quota  limit. window: microseconds.

What is told is never negative, and a denial always waits: an entry that does not fit in its log must not pass for a pardon.
]]
local FIRST, COUNT, SIZE, BASE, TOTAL, CLOCK = 0, 1, 2, 3, 4, 5 -- places of a state's numbers
local NEWER = 1000 -- a refund reads and rewrites at most so many entries

if name == "log" then
  limit = { limit = first + 0, window = second + 0, format = "I4I4I4I6I6I7", numbers = 6, log = limits.keys + 1 }
  limits.keys = limit.log
  if not algorithms.log then
    --- @include "../store/log-entries"

    -- How many of the first `count` entries have at most such a time, or total; both only grow. O(log answer).
    local function leading(entries, column, count, most)
      local low, high = 0, 1
      while high <= count and valueOf(entries, column, high) <= most do
        low, high = high, high * 2
      end
      high = high <= count and high or count + 1
      while high - low > 1 do
        local middle = (low + high - (low + high) % 2) / 2
        if valueOf(entries, column, middle) <= most then
          low = middle
        else
          high = middle
        end
      end
      return low
    end

    local log = {
      -- Ties a state to the key of its entries. Returns nil for garbage, false when the key holds something foreign.
      open = function(state, at, quota, key)
        local first, count, size, limit = state[at + FIRST], state[at + COUNT], state[at + SIZE], quota.limit
        local base, total = state[at + BASE], state[at + TOTAL]
        if count > size or count > total - base or total - base > limit or first > size or size > limit then
          return nil
        end
        local length = attempt("STRLEN", key)
        if type(length) == "table" then
          return not string.find(length.err, "^WRONGTYPE") and call("STRLEN", key)
        end
        if length < size * SLOT then
          return nil
        end
        state[quota] = openEntries(key, first, count, size, base, total, state[at + CLOCK])
        return true
      end,

      advance = function(state, at, quota, elapsed)
        local entries, clock = state[quota], state[at + CLOCK] + elapsed
        local count = entries.tail - entries.head
        local expired = leading(entries, "times", count, clock - quota.window)
        if expired == count then
          state[at + BASE], state[at + TOTAL], clock = 0, 0, 0
        elseif expired > 0 then
          state[at + BASE] = valueOf(entries, "totals", expired)
        end
        entries.head, state[at + CLOCK] = entries.head + expired, clock
        return true
      end,

      wait = function(state, at, quota, cost)
        if cost > quota.limit then
          return NEVER
        end
        local base = state[at + BASE]
        local excess = state[at + TOTAL] - base + cost - quota.limit
        if excess <= 0 then
          return 0
        end
        local entries = state[quota]
        local short = leading(entries, "totals", entries.tail - entries.head - 1, base + excess - 1)
        return math.max(1, valueOf(entries, "times", short + 1) + quota.window - state[at + CLOCK])
      end,

      spend = function(state, at, quota, cost)
        local entries, total = state[quota], state[at + TOTAL] + cost
        state[at + TOTAL] = total
        entries.tail = entries.tail + 1
        setEntry(entries, entries.tail - entries.head, state[at + CLOCK], total)
      end,

      report = function(state, at, quota)
        local entries, remaining = state[quota], quota.limit - (state[at + TOTAL] - state[at + BASE])
        local count, ahead = entries.tail - entries.head, quota.window - state[at + CLOCK]
        if count == 0 then
          return remaining, 0, 0
        end
        local reset, growth = valueOf(entries, "times", count) + ahead, valueOf(entries, "times", 1) + ahead
        return remaining, reset > 0 and reset or 0, growth > 0 and growth or 0
      end,

      flush = function(state, at, quota, lifetime)
        local entries = state[quota]
        flushEntries(entries, quota.limit, lifetime)
        state[at + FIRST], state[at + COUNT], state[at + SIZE] = entries.first, entries.tail - entries.head, entries.size
      end,
    }

    if givesBack then
      -- Units of one time are alike, so those that go are the newest of that time, whichever decision they were of.
      function log.refund(state, at, quota, cost, age)
        local entries, time = state[quota], state[at + CLOCK] - age
        local count = entries.tail - entries.head
        local newest, oldest = count, math.max(1, count - NEWER)
        while newest >= oldest and valueOf(entries, "times", newest) > time do
          newest = newest - 1
        end
        if newest < oldest or valueOf(entries, "times", newest) ~= time then
          return false
        end
        -- `left` is the running total through that time without the units; `at most` so many entries of it hold it.
        local left, i = valueOf(entries, "totals", newest) - cost, newest
        local before = i > 1 and valueOf(entries, "totals", i - 1) or state[at + BASE]
        while before > left do
          i = i - 1
          if i < oldest or valueOf(entries, "times", i) ~= time then
            return false
          end
          before = i > 1 and valueOf(entries, "totals", i - 1) or state[at + BASE]
        end
        if left > before then
          setEntry(entries, i, time, left)
        else
          i = i - 1
        end
        local gone = newest - i
        for newer = newest + 1, count do
          setEntry(entries, newer - gone, valueOf(entries, "times", newer), valueOf(entries, "totals", newer) - cost)
        end
        entries.tail = entries.tail - gone
        state[at + TOTAL] = state[at + TOTAL] - cost
        return true
      end
    end
    algorithms.log = log
  end
end
