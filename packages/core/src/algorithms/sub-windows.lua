--[[
Sliding window over sub-window counters, of which the oldest is partly covered but counts in full. Twin of sliding-window.ts, which
describes the state.

PERIOD: microseconds of a sub-window. LAST: the number of stored sub-windows. COUNTS: the format of their counts. ZEROS: one zero for
each of them.
]]

--- @section unpack-tail
counts = { struct.unpack(COUNTS, bytes, TAIL_AT) }

--- @section create
age, used, counts = now % PERIOD, 0, { ZEROS }

--- @section pack-tail
struct.pack(COUNTS, unpack(counts))

--- @section valid
age < PERIOD

--- @section advance
age, used = age + elapsed, 0
if age >= PERIOD then
  local past = age % PERIOD
  local shift = (age - past) / PERIOD
  age = past
  for i = LAST, 1, -1 do
    counts[i] = counts[i - shift] or 0
  end
end
for i = 1, LAST do
  used = used + counts[i]
end
if used == 0 then
  age = now % PERIOD -- nothing is counted, so the sub-windows can be aligned
end

--- @section used
used + cost

--- @section charge
counts[1] = counts[1] + cost

--- @section overcharge
local units, held = cost, used
--- @include clamp
counts[1] = counts[1] + units

--- @section lasts
LAST * PERIOD - age

--- @section refund
-- Refunds only into the sub-window that was charged, while it still counts.
local index = sinceCharge > age and 1 + math.ceil((sinceCharge - age) / PERIOD) or 1
if index <= LAST and counts[index] > 0 then
  isRefunded, counts[index] = true, math.max(0, counts[index] - chargedUnits)
end
