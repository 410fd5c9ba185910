--[[
What a limit that notifies has beside its algorithm: after a charge it tells which thresholds are reached. Twin of operations/notify-thresholds.ts.

Each threshold is told by one charge. What was told is in a key of its own, MARK, and nowhere until a threshold is reached:
  4 bytes  told: the most units that were told
  7 bytes  markEnds: microseconds since the epoch until which so many units, or fewer, are not told again
That is until the window ends in which they were told or, where a limit has none of its own, for as long as its window.

The rule begins behind byte THRESHOLDS_AT of the argument: numbers of 5 digits, which are the milliseconds of that window, then the
units of THRESHOLDS thresholds, the lowest first; 0 where there are fewer.

`reached` is how many this charge tells: the highest of those that are used. `spent` is the units used after it.
]]
local MARK_BYTES = 11
local RULE = 45 -- bytes of the rule

--- @section charge
--- @include tell

--- @section overcharge
--- @include tell

--- @section tell
reached, spent = 0, USED
do
  local d1, d2, d3, d4, d5 = string.byte(DIGITS, THRESHOLDS_AT + 6, THRESHOLDS_AT + 10)
  local lowest = ((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5
  if cost > 0 and lowest > 0 and spent >= lowest then
    local mark, told, markEnds = redis.pcall("GET", MARK), 0, 0
    if type(mark) == "string" and #mark == MARK_BYTES then
      told, markEnds = struct.unpack(">I4I7", mark)
      if markEnds <= now then
        told, markEnds = 0, 0
      end
    end
    local most = told
    for at = THRESHOLDS_AT + 6, THRESHOLDS_AT + RULE, 5 do
      d1, d2, d3, d4, d5 = string.byte(DIGITS, at, at + 4)
      local threshold = ((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5
      if threshold > told and threshold <= spent then
        reached, most = reached + 1, threshold
      end
    end
    d1, d2, d3, d4, d5 = string.byte(DIGITS, THRESHOLDS_AT + 1, THRESHOLDS_AT + 5)
    local window = (((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5) * 1000
    local rest = LEFT
    -- A clock that stepped back, or a shorter window, makes no mark last longer than one that is made now.
    if reached > 0 or markEnds > now + rest then
      local markLife = math.ceil(rest / 1000) + 1
      if givenClock and markLife < DAY then
        markLife = DAY -- a clock that is given may stand still
      end
      call("SET", MARK, struct.pack(">I4I7", most, now + rest), "PX", string.format("%d", markLife))
    end
  end
end
