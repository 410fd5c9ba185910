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
  keys = keys + 1
  local limit, window, keyOffset = first + 0, second + 0, keys
  format, numbers = "I4I4I4I6I6I7", 6
  --- @include "../store/log-entries"

  -- How many of the first `count` entries have at most such a time, or total; both only grow. O(log answer).
  local function leading(entries, column, count, most)
    local low, high = 0, 1
    while high <= count and valueOf(entries, column, high) <= most do
      low, high = high, high * 2
    end
    high = math.min(high, count + 1)
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

  -- Opens the entries of a state. Returns nil for garbage, false when their key holds something foreign.
  local function openLog(state)
    local key, count, size = KEYS[keyAt + keyOffset], state[at + COUNT], state[at + SIZE]
    local used = state[at + TOTAL] - state[at + BASE]
    if count > size or count > used or used > limit or state[at + FIRST] > size or size > limit then
      return nil
    end
    local length = attempt("STRLEN", key)
    if type(length) == "table" then
      return not string.find(length.err, "^WRONGTYPE") and call("STRLEN", key)
    end
    if length < size * SLOT then
      return nil
    end
    state[-at] = openEntries(key, state, at)
    return state[-at]
  end

  function wait(state, cost, elapsed)
    local entries = state[-at]
    if not entries then
      entries = openLog(state)
      if not entries then
        return entries
      end
    end
    local clock, count = state[at + CLOCK] + elapsed, entries.tail - entries.head
    local expired = leading(entries, "times", count, clock - window)
    if expired == count then
      state[at + BASE], state[at + TOTAL], clock = 0, 0, 0
    elseif expired > 0 then
      state[at + BASE] = valueOf(entries, "totals", expired)
    end
    entries.head, count, state[at + CLOCK] = entries.head + expired, count - expired, clock
    local base = state[at + BASE]
    local excess = state[at + TOTAL] - base + cost - limit
    if excess <= 0 then
      return 0
    end
    if cost > limit then
      return NEVER
    end
    local short = leading(entries, "totals", count - 1, base + excess - 1)
    return math.max(1, valueOf(entries, "times", short + 1) + window - clock)
  end

  function report(state, cost)
    local entries, clock, total = state[-at], state[at + CLOCK], state[at + TOTAL] + cost
    if cost > 0 then
      state[at + TOTAL] = total
      entries.tail = entries.tail + 1
      setEntry(entries, entries.tail - entries.head, clock, total)
    end
    local remaining, count, ahead = limit - total + state[at + BASE], entries.tail - entries.head, window - clock
    if count == 0 then
      return remaining, 0, 0
    end
    local reset, growth = valueOf(entries, "times", count) + ahead, valueOf(entries, "times", 1) + ahead
    return remaining, math.max(0, reset), math.max(0, growth)
  end

  limits.logs = limits.logs or {}
  limits.logs[#limits.logs + 1] = -at
  limits[-at] = function(state, lifetime)
    local entries = state[-at]
    flushEntries(entries, limit, lifetime)
    state[at + FIRST], state[at + COUNT], state[at + SIZE] = entries.first, entries.tail - entries.head, entries.size
  end

  if givesBack then
    -- Units of one time are alike, so those that go are the newest of that time, whichever decision they were of.
    function refund(state, cost, age)
      local entries, time = state[-at], state[at + CLOCK] - age
      local count = entries.tail - entries.head
      local newest, oldest = count, math.max(1, count - NEWER)
      while newest >= oldest and valueOf(entries, "times", newest) > time do
        newest = newest - 1
      end
      if newest < oldest or valueOf(entries, "times", newest) ~= time then
        return false
      end
      local function before(i)
        return i > 1 and valueOf(entries, "totals", i - 1) or state[at + BASE]
      end
      -- The running total through that time without the units, and the entry that will be the last to count towards it.
      local left, last = valueOf(entries, "totals", newest) - cost, newest
      while before(last) > left do
        last = last - 1
        if last < oldest or valueOf(entries, "times", last) ~= time then
          return false
        end
      end
      if left > before(last) then
        setEntry(entries, last, time, left)
      else
        last = last - 1
      end
      local gone = newest - last
      for newer = newest + 1, count do
        setEntry(entries, newer - gone, valueOf(entries, "times", newer), valueOf(entries, "totals", newer) - cost)
      end
      entries.tail = entries.tail - gone
      state[at + TOTAL] = state[at + TOTAL] - cost
      return true
    end
  end
end
