-- span * factor / PERIOD as whole `units` and a `rest` of PERIOD-ths, where the product may pass 2^53; factor, PERIOD < 2^45.
-- 7 bits of the factor at a time: rest * 128 + odd * digit < 2^45 * 255 < 2^53.
local odd, left, scale = span % PERIOD, factor, 4398046511104 -- 2^42
units, rest = 0, 0
repeat
  local digit = (left - left % scale) / scale
  local sum = rest * 128 + odd * digit
  left, rest, scale = left % scale, sum % PERIOD, scale / 128
  units = units * 128 + (sum - rest) / PERIOD
until scale < 1
units = units + (span - odd) / PERIOD * factor
