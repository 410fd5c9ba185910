--[[
Exact integer arithmetic on doubles. Twin of exact.ts. Whole quotients are taken with `%`, which is exact below 2^53 and much
cheaper here than a call of math.floor.

All times are integer microseconds. The longest window is below 2^45, counts are at most 10^9 < 2^30.
]]
local SAFE = 9007199254740991 -- 2^53 - 1: integers up to here are exact
-- The longest wait that is told, 285 years: whole milliseconds, below the last integers that every client reads right.
local LONGEST = 9007199254740000
local NEVER = -1

-- a * b / n as whole units and a remainder of n-ths, for b and n < 2^45; exact where the units are below 2^53.
local function mulDiv(a, b, n)
  local product = a * b
  if product <= SAFE then
    local part = product % n
    return (product - part) / n, part
  end
  -- Long multiplication, 7 bits of b at a time: part * 128 + odd * digit < 2^45 * 255 < 2^53.
  local odd = a % n
  local turned, whole, part, rest, scale = (a - odd) / n * b, 0, 0, b, 4398046511104 -- 2^42
  repeat
    local digit = (rest - rest % scale) / scale
    rest = rest % scale
    local sum = part * 128 + odd * digit
    part = sum % n
    whole = whole * 128 + (sum - part) / n
    scale = scale / 128
  until scale < 1
  return turned + whole, part
end
