--[[
The entries of a sliding log, in a string of their own that is used as a ring of slots: 7 bytes of time, 6 of total.
Single entries are read and written in place. The ring is rewritten as a whole only to change its size: when it is
full it grows by half, so that this costs each entry a constant share, and it shrinks when 7/8 of it are free.

Live entry i has the number head + i; numbers count from the oldest entry stored when the log was opened. What was read or
changed is in `times` and `totals` by number. `dirty` is the first number that changed.
]]
local SLOT = 13

-- Entries as a state says that they are stored. `clock`, `base`, `last`: no entry is newer and no total is outside, whatever is
-- found in a slot.
local function openEntries(key, state, at)
  return {
    key = key, first = state[at + FIRST], size = state[at + SIZE],
    head = 0, tail = state[at + COUNT], stored = state[at + COUNT], times = {}, totals = {},
    clock = state[at + CLOCK], base = state[at + BASE], last = state[at + TOTAL],
  }
end

-- The bytes from a slot to another, the last of them included. Slots are written as text: servers differ in how they write
-- large numbers, and 14 digits are enough.
local function bytesOf(entries, from, to)
  return call("GETRANGE", entries.key, from * SLOT .. "", to * SLOT + SLOT - 1 .. "")
end

-- The time, or the total, of entry i: a name and a number.
local function valueOf(entries, column, i)
  local number = entries.head + i
  local value = entries[column][number]
  if value then
    return value
  end
  local slot = (entries.first + number - 1) % entries.size
  local time, total = read(">I7I6", bytesOf(entries, slot, slot))
  local clock, base, last = entries.clock, entries.base, entries.last
  entries.times[number] = time < clock and time or clock
  entries.totals[number] = total < base and base or total > last and last or total
  return entries[column][number]
end

local function setEntry(entries, i, time, total)
  local number = entries.head + i
  entries.times[number], entries.totals[number] = time, total
  if not entries.dirty or number < entries.dirty then
    entries.dirty = number
  end
end

-- The bytes of entries from one number to another.
local function packEntries(entries, from, to)
  local bytes = {}
  for i = from - entries.head, to - entries.head do
    bytes[#bytes + 1] = write(">I7I6", valueOf(entries, "times", i), valueOf(entries, "totals", i))
  end
  return table.concat(bytes)
end

-- Writes all of the ring with another number of slots, the oldest entry first.
local function resizeEntries(entries, size, lifetime)
  local from, tail, bytes = entries.head + 1, entries.tail, ""
  -- What did not change is copied as it is stored, in at most two blocks.
  local fixed = math.min(entries.stored, tail, (entries.dirty or tail + 1) - 1)
  if from <= fixed then
    local first, last = (entries.first + from - 1) % entries.size, (entries.first + fixed - 1) % entries.size
    if first <= last then
      bytes = bytesOf(entries, first, last)
    else
      bytes = bytesOf(entries, first, entries.size - 1) .. bytesOf(entries, 0, last)
    end
  end
  bytes = bytes .. packEntries(entries, math.max(from, fixed + 1), tail)
  call("SET", entries.key, bytes .. string.rep("\0", size * SLOT - #bytes), "PX", lifetime)
  entries.size, entries.first = size, 0
end

-- Writes what changed. `limit` is the most entries there can ever be.
local function flushEntries(entries, limit, lifetime)
  local head, tail, size = entries.head, entries.tail, entries.size
  local count = tail - head
  if count == 0 then
    call("DEL", entries.key)
    entries.size, entries.first = 0, 0
  elseif count > size or (size > 64 and count * 8 < size) then
    resizeEntries(entries, math.min(limit, count + math.max(2, math.ceil(count / 2))), lifetime)
  else
    local number = math.max(entries.dirty or tail + 1, head + 1)
    while number <= tail do
      -- Up to the end of the ring, or to the newest.
      local slot = (entries.first + number - 1) % size
      local last = math.min(tail, number + size - slot - 1)
      call("SETRANGE", entries.key, slot * SLOT .. "", packEntries(entries, number, last))
      number = last + 1
    end
    call("PEXPIRE", entries.key, lifetime)
    entries.first = (entries.first + head) % size
  end
end
