--[[
Writes the units that changed. A key outlives its reset. Expiry is garbage collection only, so its time is rounded up to a power
of two in microseconds: there are few of these, and to write a number as text costs as much as a decision's arithmetic. On a
clock that was given, which may stand still, a key lives for a day at least.
]]
local DAY = 86400000 -- in milliseconds

for i = 1, changes do
  local unit = changed[i]
  local limits, _, magnitude = unit[LIMITS], frexp(unit[RESET])
  local lifetime = known[magnitude]
  if not lifetime then
    local milliseconds = 2 ^ magnitude / 1000 + 1000
    if ARGV[1] ~= "" and milliseconds < DAY then
      milliseconds = DAY
    end
    lifetime = string.format("%d", milliseconds)
    known[magnitude] = lifetime
  end
  if limits.keys > 1 then
    for _, at in ipairs(limits.logs) do
      limits[at](unit, lifetime)
    end
  end
  call("SET", unit[KEY], write(limits.format, unpack(unit, STAMP)), "PX", lifetime)
end
