--[[
Concurrency: at most `limit` slots held at the same time. Twin of concurrency.ts.

count: recorded slots. clock: microseconds on the clock of the slots, which starts with the first of them and never steps back.
PERIOD: microseconds for which a slot is held unless it is renewed. HOLDER: the holder that requests slots, HOLDER_BYTES characters.
SLOTS: how many it requests.

The slots are in a string of their own, LOG, as records of SLOT_BYTES bytes: 7 bytes with the time on that clock until which the slot
is held, then its holder. The records are sorted by that time, and those of one holder are adjacent. The string is written from the
first changed record; bytes after the last record have no meaning. `taken`, the number of slots, is reported.
]]
local SLOT_BYTES = 15

--- @section load-entries
--- @include length
slots, from = "", nil
-- Removes a holder's slots. Returns how many there were.
function release(holder)
  local at = string.find(slots, holder, 1, true)
  while at and at % SLOT_BYTES ~= SLOT_BYTES - HOLDER_BYTES + 1 do
    at = string.find(slots, holder, at + 1, true) -- a match across two records, not a holder
  end
  if not at then
    return 0
  end
  local before, after = at - SLOT_BYTES + HOLDER_BYTES - 1, at + HOLDER_BYTES - 1
  while string.sub(slots, after + SLOT_BYTES - HOLDER_BYTES + 1, after + SLOT_BYTES) == holder do
    after = after + SLOT_BYTES
  end
  local number = (after - before) / SLOT_BYTES
  slots = string.sub(slots, 1, before) .. string.sub(slots, after + 1)
  from, count = math.min(from or before, before), count - number
  return number
end
-- Records a holder's slots, starting now.
function acquire(holder, number)
  from = from or #slots
  slots = slots .. string.rep(struct.pack(">I7", clock + PERIOD) .. holder, number)
  count = count + number
end

--- @section valid
length >= count * SLOT_BYTES

--- @section advance
clock = clock + elapsed
local lapsed, held = 0, count
if count > 0 then
  slots = string.sub(call("GET", LOG), 1, count * SLOT_BYTES)
end
while lapsed < held do
  local middle = (lapsed + held - (lapsed + held) % 2) / 2
  if struct.unpack(">I7", slots, middle * SLOT_BYTES + 1) <= clock then
    lapsed = middle + 1
  else
    held = middle
  end
end
if lapsed > 0 then
  slots, from, count = string.sub(slots, lapsed * SLOT_BYTES + 1), 0, count - lapsed
end
if count == 0 then
  clock = 0
end

--- @section allows
(count + SLOTS <= limit or release(HOLDER) > 0)

--- @section left
cost -- a request takes one slot, whatever its cost

--- @section charge
release(HOLDER) -- already there if a reply was lost and the client resent the call
acquire(HOLDER, SLOTS)
taken = count

--- @section report
taken = count

--- @section lasts
PERIOD

--- @section must-set
from and length == 0

--- @section store
if from and length == 0 then
  call("SET", LOG, slots, "PX", ttl) -- set together with its expiry: a script that fails is not rolled back
else
  if from then
    call("SETRANGE", LOG, from .. "", string.sub(slots, from + 1))
  end
  if ttl then
    call("PEXPIRE", LOG, ttl)
  end
end

--- @section update-slot
local number = release(holder)
if number > 0 then
  wasHeld = 1
  if renews == 1 then
    acquire(holder, number)
  end
end
