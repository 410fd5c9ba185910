--[[
The sections of a limit that notifies, in addition to those of its algorithm: a charge reports the thresholds that it reaches. Twin of
operations/notify-thresholds.ts.

Each threshold is reported by one charge. The reported thresholds are in a key of their own, MARK, which exists once a threshold was
reached:
  4 bytes  notified: the units of the highest reported threshold
  7 bytes  markEndsAt: microseconds since the epoch until which neither it nor a lower threshold is reported again
The mark ends with the window in which it was set or, for a limit without windows of its own, after the duration of its window.

The rule begins after byte THRESHOLDS_AT of the argument, in numbers of 5 digits: the milliseconds of that duration, then the units of
each threshold, ascending; 0 for missing ones.

`reached`: how many thresholds this charge reports, the highest ones among those used. `spent`: the units used after the charge.
]]
local MARK_BYTES = 11
local RULE_BYTES = 45

--- @section charge
--- @include notify

--- @section overcharge
--- @include notify

--- @section notify
reached, spent = 0, USED
do
  local d1, d2, d3, d4, d5 = string.byte(digits, THRESHOLDS_AT + 6, THRESHOLDS_AT + 10)
  local lowest = ((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5
  if cost > 0 and lowest > 0 and spent >= lowest then
    local mark, notified, markEndsAt = tryCall("GET", MARK), 0, 0
    if type(mark) == "string" and #mark == MARK_BYTES then
      notified, markEndsAt = struct.unpack(">I4I7", mark)
      if markEndsAt <= now then
        notified, markEndsAt = 0, 0
      end
    end
    local most = notified
    for at = THRESHOLDS_AT + 6, THRESHOLDS_AT + RULE_BYTES, 5 do
      d1, d2, d3, d4, d5 = string.byte(digits, at, at + 4)
      local threshold = ((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5
      if threshold > notified and threshold <= spent then
        reached, most = reached + 1, threshold
      end
    end
    d1, d2, d3, d4, d5 = string.byte(digits, THRESHOLDS_AT + 1, THRESHOLDS_AT + 5)
    local window = (((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5) * 1000
    local rest = WINDOW_LEFT
    -- After the clock stepped back, or with a shorter window, a mark lasts no longer than one that is set now.
    if reached > 0 or markEndsAt > now + rest then
      local markTtl = math.ceil(rest / 1000) + 1
      if givenClock and markTtl < DAY then
        markTtl = DAY -- a supplied clock may stand still
      end
      call("SET", MARK, struct.pack(">I4I7", most, now + rest), "PX", string.format("%d", markTtl))
    end
  end
end
