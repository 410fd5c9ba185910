--[[
Opens `unit`, the working copy of what the next key names, with its `limits`, and brings it to the present. It is false when
one of its keys holds something foreign. Each is opened once a call.
]]
local key = KEYS[keyAt + 1]
local unit = units[key]
if unit == nil then
  local bytes = attempt("GET", key)
  local isStored = bytes and #bytes == limits.width
  if not isStored and type(bytes) == "table" then
    unit = not string.find(bytes.err, "^WRONGTYPE") and call("GET", key) -- any other error ends the script, in the server's own words
  end
  while unit == nil do
    local elapsed = 0
    if isStored then
      unit = { key, limits, false, read(limits.format, bytes) }
      elapsed = now - unit[STAMP]
    else
      birth = birth + 0
      unit = { key, limits, false, now, birth }
      for at = STATES, limits.last do
        unit[at] = 0
      end
    end
    isStored = false -- what makes no sense begins anew, in a second round
    unit[STAMP] = now
    local steppedBack = elapsed < 0
    if steppedBack then
      elapsed = 0
    end
    for i = 1, #limits do
      local limit = limits[i]
      if unit and limit.log then
        local isWhole = limit.algorithm.open(unit, limit.at, limit, KEYS[keyAt + limit.log])
        if not isWhole then
          unit = isWhole -- nil begins anew
        end
      end
      if unit and not limit.algorithm.advance(unit, limit.at, limit, elapsed, now) then
        unit = nil
      end
    end
    if steppedBack and unit then
      -- The state is taken as of now, so nobody waits longer than before the step, and that is written even when nothing is
      -- charged, or the state would stay in the future. Receipts of before are void.
      birth = birth + 0
      unit[BIRTH], unit[RESET] = birth, 0
      for i = 1, #limits do
        local limit = limits[i]
        local _, reset = limit.algorithm.report(unit, limit.at, limit)
        unit[RESET] = reset > unit[RESET] and reset or unit[RESET]
      end
      changes = changes + 1
      changed[changes] = unit
    end
  end
  units[key] = unit
end
keyAt = keyAt + limits.keys
