--[[
Sliding log: every admitted request in (now - PERIOD, now]. Twin of sliding-log.ts, which describes base, total and clock.

first: the index of the oldest entry in the ring, from 0. count: the number of entries. size: the number of entries that fit.

The entries are in a string of their own, LOG, which is a ring of entries of ENTRY_BYTES bytes: 7 of time, 6 of the running total
through the entry. Single entries are read and written in place. The ring is rewritten as a whole only to change its size: a full ring
grows by a quarter, so the cost for each entry stays constant, and a ring shrinks when 7/8 of it are free.

The script reports the units used, and the ages of three entries: `grows`, the first entry whose expiry increases what remains; the
newest; and `frees`, the first entry whose expiry makes room for a denied cost.
]]
local ENTRY_BYTES, MAX_REFUND_ENTRIES = 13, 1000 -- a refund reads and rewrites at most this many entries

--- @section load-entries
--- @include length

--- @section valid
first <= size and count <= size and count <= total - base and length >= size * ENTRY_BYTES

--- @section advance
times, totals, ends = {}, {}, clock
-- The time or the total of an entry; `column` is one of the two lists, indexed by position in the ring.
function entry(column, i)
  local index = (first + i - 1) % size
  if not column[index] then
    local bytes = call("GETRANGE", LOG, index * ENTRY_BYTES .. "", index * ENTRY_BYTES + ENTRY_BYTES - 1 .. "")
    local time, sum = struct.unpack(">I7I6", bytes)
    -- Clamp the values of an entry: no entry is newer than the log, and no total is out of range.
    times[index] = time < ends and time or ends
    totals[index] = sum < base and base or sum > total and total or sum
  end
  return column[index]
end
-- Counts the leading entries, up to `most`, with a time (or total) of at most `bound`; both only grow. O(log result).
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

--- @section left
limit - total + base

--- @section charge
grows, newest, frees = count > 0 and clock - entry(times, 1) or 0, 0, 0
total, count = total + cost, count + 1
used = total - base
at, tail = count, struct.pack(">I7I6", clock, total)

--- @section overcharge
local units, held = cost, count < MAX_ENTRIES and total - base or MAX_UNITS
--- @include clamp
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
PERIOD

--- @section prepare-store
isResized = tail and (count > size or size > 64 and count * 8 < size)

--- @section must-set
isResized

--- @section store
if count == 0 then
  call("DEL", LOG)
  first, size = 0, 0
elseif isResized then
  local content, last = "", (first + at - 2) % size
  if at > 1 and first <= last then
    content = call("GETRANGE", LOG, first * ENTRY_BYTES .. "", last * ENTRY_BYTES + ENTRY_BYTES - 1 .. "")
  elseif at > 1 then
    content = call("GETRANGE", LOG, first * ENTRY_BYTES .. "", size * ENTRY_BYTES - 1 .. "")
      .. call("GETRANGE", LOG, "0", last * ENTRY_BYTES + ENTRY_BYTES - 1 .. "")
  end
  content, first, size = content .. tail, 0, count + math.max(2, math.ceil(count / 4))
  call("SET", LOG, content .. string.rep("\0", size * ENTRY_BYTES - #content), "PX", ttl)
else
  if tail and tail ~= "" then
    -- Up to the end of the ring, then the rest from its beginning.
    local index = (first + at - 1) % size
    local room = (size - index) * ENTRY_BYTES
    call("SETRANGE", LOG, index * ENTRY_BYTES .. "", string.sub(tail, 1, room))
    if #tail > room then
      call("SETRANGE", LOG, "0", string.sub(tail, room + 1))
    end
  end
  if ttl then
    call("PEXPIRE", LOG, ttl)
  end
end

--- @section refund
-- Units charged at the same time are interchangeable, so the newest ones of that time are removed, whichever decision charged
-- them.
local time, last, least = clock - sinceCharge, count, math.max(1, count - MAX_REFUND_ENTRIES)
while last >= least and entry(times, last) > time do
  last = last - 1
end
if last >= least and entry(times, last) == time then
  -- The running total through that time without the units, and the last entry that will still count towards it.
  local newer, left, isThere = last + 1, entry(totals, last) - chargedUnits, true
  while isThere and left < (last > 1 and entry(totals, last - 1) or base) do
    last = last - 1
    isThere = last >= least and entry(times, last) == time
  end
  if isThere then
    isRefunded, at = true, last
    local packed, gone = {}, newer - last
    if left > (last > 1 and entry(totals, last - 1) or base) then
      packed[1], gone = struct.pack(">I7I6", time, left), gone - 1
    end
    for i = newer, count do
      packed[#packed + 1] = struct.pack(">I7I6", entry(times, i), entry(totals, i) - chargedUnits)
    end
    count, total, tail = count - gone, total - chargedUnits, table.concat(packed)
  end
end
