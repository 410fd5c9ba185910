--[[
Writes the units that changed. A key outlives its reset. Expiry is garbage collection only, so its time is rounded up, to a
power of two in microseconds: there are few of these, and to write a number as text costs as much as a decision's arithmetic.
On a clock that was given, which may stand still, a key lives for a day at least.
]]
local lifetimes = {}
for i = 1, changes do
  local unit = changed[i]
  local limits, _, magnitude = unit[LIMITS], math.frexp(unit[RESET])
  local lifetime = lifetimes[magnitude]
  if not lifetime then
    local milliseconds = 2 ^ magnitude / 1000 + 2
    if ARGV[1] ~= "" and milliseconds < DAY then
      milliseconds = DAY
    end
    lifetime = string.format("%d", milliseconds)
    lifetimes[magnitude] = lifetime
  end
  if limits.keys > 1 then
    for n = 1, #limits do
      if limits[n].log then
        limits[n].algorithm.flush(unit, limits[n].at, limits[n], lifetime)
      end
    end
  end
  call("SET", unit[KEY], write(limits.format, unpack(unit, STAMP)), "PX", lifetime)
end
