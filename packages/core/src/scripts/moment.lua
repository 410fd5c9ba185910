-- The clock in microseconds, read once: the server's own, unless one is given (a seam for tests and replays).
local givenClock, now = CLOCK, nil
if givenClock then
  now = givenClock + 0
else
  local time = call("TIME")
  now = time[1] * 1000000 + time[2]
end
