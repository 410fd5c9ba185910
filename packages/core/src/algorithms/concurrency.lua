--[[
Concurrency: at most `limit` slots taken at the same time. Twin of concurrency.ts.

count: slots on record. clock: microseconds on their own clock, which starts with the first of them and never steps back.
PERIOD: microseconds for which a slot is held unless it is renewed. HOLDER: who asks, HOLDER_BYTES characters. PLACES: for how many.

The slots are in a string of their own, LOG, as records of SLOT bytes: 7 of the time on that clock until which the slot is held,
then its holder. The one that lapses first comes first, and those of one holder stand together. The string is written from the
first record that changed; bytes behind the last one have no meaning. `taken`, the number of slots, is reported.
]]
local SLOT = 15

--- @section reach
--- @include length
places, from = "", nil
-- Removes a holder's slots from the record. Returns how many there were.
function leave(holder)
  local at = string.find(places, holder, 1, true)
  while at and at % SLOT ~= SLOT - HOLDER_BYTES + 1 do
    at = string.find(places, holder, at + 1, true) -- a match across two records, not a holder
  end
  if not at then
    return 0
  end
  local before, after = at - SLOT + HOLDER_BYTES - 1, at + HOLDER_BYTES - 1
  while string.sub(places, after + SLOT - HOLDER_BYTES + 1, after + SLOT) == holder do
    after = after + SLOT
  end
  local number = (after - before) / SLOT
  places = string.sub(places, 1, before) .. string.sub(places, after + 1)
  from, count = math.min(from or before, before), count - number
  return number
end
-- Records a holder's slots, starting now.
function hold(holder, number)
  from = from or #places
  places = places .. string.rep(struct.pack(">I7", clock + PERIOD) .. holder, number)
  count = count + number
end

--- @section sound
length >= count * SLOT

--- @section advance
clock = clock + elapsed
local lapsed, held = 0, count
if count > 0 then
  places = string.sub(call("GET", LOG), 1, count * SLOT)
end
while lapsed < held do
  local middle = (lapsed + held - (lapsed + held) % 2) / 2
  if struct.unpack(">I7", places, middle * SLOT + 1) <= clock then
    lapsed = middle + 1
  else
    held = middle
  end
end
if lapsed > 0 then
  places, from, count = string.sub(places, lapsed * SLOT + 1), 0, count - lapsed
end
if count == 0 then
  clock = 0
end

--- @section allows
(count + PLACES <= limit or leave(HOLDER) > 0)

--- @section charge
leave(HOLDER) -- already there if a reply was lost and the client resent the call
hold(HOLDER, PLACES)
taken = count

--- @section report
taken = count

--- @section lasts
if longest < PERIOD then
  longest = PERIOD
end
mustSet = mustSet or from and length == 0 -- a new string has no expiry yet

--- @section store
if from and length == 0 then
  call("SET", LOG, places, "PX", life) -- set together with its expiry: a script that fails is not rolled back
else
  if from then
    call("SETRANGE", LOG, from .. "", string.sub(places, from + 1))
  end
  if life then
    call("PEXPIRE", LOG, life)
  end
end

--- @section tend
local number = leave(holder)
if number > 0 then
  isThere = 1
  if renews == 1 then
    hold(holder, number)
  end
end
