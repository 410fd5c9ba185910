--[[
Opens `unit`, the working copy of what the next key names, with its `limits`; each is opened once a call. Brings it to the
present and asks its limits for `cost`: adds to `waits` how long each would have to be waited for, and makes `allowed` false
when one has to. `unit` is false when one of its keys holds something foreign.
]]
local key = KEYS[keyAt + 1]
local unit, elapsed, ahead = units[key], 0, nil
if unit == nil then
  local bytes = attempt("GET", key)
  if bytes and #bytes == limits.width then
    unit = { key, limits, false, read(limits.format, bytes) }
    elapsed = now - unit[STAMP]
    unit[STAMP] = now
    if elapsed < 0 then
      ahead, elapsed = unit, 0 -- the clock stepped back: the state is taken as of now, so nobody waits longer than before
    end
  elseif type(bytes) == "table" then
    -- Any other error ends the script, in the server's own words.
    unit = not string.find(bytes.err, "^WRONGTYPE") and call("GET", key)
  end
  units[key] = unit
end

local before, asked = allowed, waitsTold
repeat
  if unit == nil then
    -- There was none, or garbage.
    birth = birth + 0
    unit = { key, limits, false, now, birth }
    for at = STATES, limits.last do
      unit[at] = 0
    end
    units[key], elapsed, allowed, waitsTold = unit, 0, before, asked
  end
  for i = 1, unit and #limits or 0, 2 do
    local wait = limits[i](unit, cost, elapsed)
    waitsTold = waitsTold + 1
    waits[waitsTold] = wait
    if wait ~= 0 then
      allowed = false
      if not wait then
        unit, units[key] = wait, wait -- nil for garbage, false for something foreign
        break
      end
    end
  end
until unit ~= nil

if ahead and ahead == unit then
  -- Written even when nothing is charged, or the state would stay in the future. Receipts of before are void.
  birth = birth + 0
  unit[BIRTH] = birth
  local longest = 0
  for i = 2, #limits, 2 do
    local _, reset = limits[i](unit, 0)
    longest = math.max(longest, reset)
  end
  --- @include "mark-unit"
end
keyAt = keyAt + limits.keys
