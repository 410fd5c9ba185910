--[[
Writes a counter that changed. A key outlives the time in which it differs from an absent one. That is garbage collection only,
so the time is rounded up to a power of two; and while the key lives long enough, its bytes are replaced in place, which costs
the server less. It never lives for more than 2 * longest + 2 seconds.
]]
local longest, mustSet, life = 0, givenClock, nil
--- @limits lasts
if block then
  local blockEnds, levelEnds = struct.unpack(">I7I7", block)
  longest = math.max(longest, blockEnds - now, levelEnds - now)
end
local spare = lives * 1000000 - now
if mustSet or spare < longest or spare > 2 * longest + 2000000 then
  local _, magnitude = math.frexp(math.min(longest, LONGEST))
  life = 2 ^ magnitude / 1000 + 1000
  if givenClock and life < DAY then
    life = DAY -- a clock that is given may stand still
  end
  lives = math.min((now / 1000 + life) / 1000, LAST_SECOND)
  lives, life = lives - lives % 1, string.format("%d", life)
end
--- @limits store
value = PACKED
if block then
  value = value .. block
end
--- @write
