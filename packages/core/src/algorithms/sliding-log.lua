--[[
Sliding log: every admitted request in (now - PERIOD, now]. Twin of sliding-log.ts, which describes base, total and clock.

first, count, size: the slot of the oldest entry, how many entries there are, and how many slots.

The entries are in a string of their own, LOG, which is used as a ring of slots of 13 bytes: 7 of time, 6 of the running total
through the entry. Single entries are read and written in place. The ring is rewritten as a whole only to change its size: when
it is full it grows by a quarter, so that this costs each entry a constant share, and it shrinks when 7/8 of it are free.

Reported are the units used, and the ages of three entries: `grows`, the first without which more would remain; the newest; and
`frees`, the first without which a cost that is denied would fit.
]]
local SLOT, NEWER = 13, 1000 -- a refund reads and rewrites at most this many entries

--- @section reach
--- @include length

--- @section sound
first <= size and count <= size and count <= total - base and length >= size * SLOT

--- @section advance
times, totals, ends = {}, {}, clock
-- The time or the total of an entry; `column` is one of the two lists, indexed by slot.
function entry(column, i)
  local slot = (first + i - 1) % size
  if not column[slot] then
    local bytes = call("GETRANGE", LOG, slot * SLOT .. "", slot * SLOT + SLOT - 1 .. "")
    local time, sum = struct.unpack(">I7I6", bytes)
    -- Clamp what is found in a slot: no entry is newer than the log, and no total is out of range.
    times[slot] = time < ends and time or ends
    totals[slot] = sum < base and base or sum > total and total or sum
  end
  return column[slot]
end
-- How many leading entries, up to `most`, have a time (or total) of at most `bound`; both only grow. O(log answer).
function leading(column, most, bound)
  local low, high = 0, 1
  while high <= most and entry(column, high) <= bound do
    low, high = high, high * 2
  end
  high = math.min(high, most + 1)
  while high - low > 1 do
    local middle = (low + high - (low + high) % 2) / 2
    if entry(column, middle) <= bound then
      low = middle
    else
      high = middle
    end
  end
  return low
end
clock = clock + elapsed
local expired = leading(times, count, clock - PERIOD)
if expired == count then
  first, count, base, total, clock = 0, 0, 0, 0, 0
elseif expired > 0 then
  base = entry(totals, expired)
  first, count = (first + expired) % size, count - expired
end

--- @section allows
total - base + cost <= limit

--- @section charge
grows, newest, frees = count > 0 and clock - entry(times, 1) or 0, 0, 0
total, count = total + cost, count + 1
used = total - base
at, tail = count, struct.pack(">I7I6", clock, total)

--- @section overcharge
local units, held = cost, count < ENTRIES and total - base or MOST
--- @include hold
if units > 0 then
  total, count = total + units, count + 1
  at, tail = count, struct.pack(">I7I6", clock, total)
end

--- @section report
used, grows, newest, frees = total - base, 0, 0, 0
if count > 0 then
  grows = clock - entry(times, used > limit and 1 + leading(totals, count - 1, base + used - limit) or 1)
  newest = clock - entry(times, count)
  if used + cost > limit and cost <= limit then
    frees = clock - entry(times, 1 + leading(totals, count - 1, base + used + cost - limit - 1))
  end
end

--- @section used
total - base

--- @section lasts
if longest < PERIOD then
  longest = PERIOD
end
isResized = tail and (count > size or size > 64 and count * 8 < size)
mustSet = mustSet or isResized

--- @section store
if count == 0 then
  call("DEL", LOG)
  first, size = 0, 0
elseif isResized then
  local kept, last = "", (first + at - 2) % size
  if at > 1 and first <= last then
    kept = call("GETRANGE", LOG, first * SLOT .. "", last * SLOT + SLOT - 1 .. "")
  elseif at > 1 then
    kept = call("GETRANGE", LOG, first * SLOT .. "", size * SLOT - 1 .. "")
      .. call("GETRANGE", LOG, "0", last * SLOT + SLOT - 1 .. "")
  end
  kept, first, size = kept .. tail, 0, count + math.max(2, math.ceil(count / 4))
  call("SET", LOG, kept .. string.rep("\0", size * SLOT - #kept), "PX", life)
else
  if tail and tail ~= "" then
    -- Up to the end of the ring, then the rest from its beginning.
    local slot = (first + at - 1) % size
    local room = (size - slot) * SLOT
    call("SETRANGE", LOG, slot * SLOT .. "", string.sub(tail, 1, room))
    if #tail > room then
      call("SETRANGE", LOG, "0", string.sub(tail, room + 1))
    end
  end
  if life then
    call("PEXPIRE", LOG, life)
  end
end

--- @section refund
-- Units charged at the same time are interchangeable, so the newest ones of that time are removed, whichever decision charged
-- them.
local time, last, least = clock - since, count, math.max(1, count - NEWER)
while last >= least and entry(times, last) > time do
  last = last - 1
end
if last >= least and entry(times, last) == time then
  -- The running total through that time without the units, and the last entry that will still count towards it.
  local newer, left, isThere = last + 1, entry(totals, last) - given, true
  while isThere and left < (last > 1 and entry(totals, last - 1) or base) do
    last = last - 1
    isThere = last >= least and entry(times, last) == time
  end
  if isThere then
    isGiven, at = true, last
    local packed, gone = {}, newer - last
    if left > (last > 1 and entry(totals, last - 1) or base) then
      packed[1], gone = struct.pack(">I7I6", time, left), gone - 1
    end
    for i = newer, count do
      packed[#packed + 1] = struct.pack(">I7I6", entry(times, i), entry(totals, i) - given)
    end
    count, total, tail = count - gone, total - given, table.concat(packed)
  end
end
