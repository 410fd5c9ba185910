--[[
What the scripts on counters share. A counter is one subject of one limiter in one dimension. Its key holds
  7 bytes  stamp: microseconds since the epoch at which the state was true
  4 bytes  generation: tells this life of the counter from others, so that a refund cannot reach into another one
  4 bytes  lives: the second since the epoch until which the key lives at least
  then each limit's state, in canonical order; then, while the counter is blocked or the level of its blocks is kept, BLOCK bytes:
  7 bytes  blockEnds: microseconds since the epoch until which every decision is denied
  7 bytes  levelEnds: when the level is forgotten
  1 byte   level: blocks that its limits have set since the level was last forgotten, LEVELS at most
  1 byte   setBy: the limit that set the block, from 1 in canonical order; 0 when it was set by hand
A value of another length, or with impossible numbers, counts as absent.

KEYS  for each call, of each counter: its own, then for each limit that of its sliding log, or of its slots, and that of its mark
ARGV  [1] the clock, or nothing; then for each run of calls that are alike, as digits: the numbers of the limits, how many calls
      they are, and what the operation says
Returns for each call an answer: what the operation says; -1, and nothing is done, when a key holds something else
]]

-- The scripts contain these numbers in place of their names.
local SAFE = 9007199254740991 -- 2^53 - 1: integers up to here are exact
local LONGEST = 9007199254740000 -- microseconds, 285 years: the longest time that is kept or reported
local MOST = 2000000000 -- units that a limit can hold
local ENTRIES = 1048576 -- entries that a log can hold
local DAY = 86400000 -- milliseconds
local YEAR = 31622400000000 -- microseconds of 366 days, the longest duration
local LAST_SECOND = 4294967295 -- 2^32 - 1
local BLOCK = 16 -- bytes behind a counter that has a block
local LEVELS = 16 -- blocks in a list that escalates
local HOLDER_BYTES = 8 -- of the holder of a place

--- @section batch
local call = redis.call
--- @include moment
--- @include calls
return reply

--- @section moment
-- The clock in microseconds, read once: the server's own, unless one is given (a seam for tests and replays).
local givenClock, now = CLOCK, nil
if givenClock then
  now = givenClock + 0
else
  local time = call("TIME")
  now = time[1] * 1000000 + time[2]
end

--- @section calls
-- Takes calls one after the other, run by run. `reply` has the answer to each.
local reply, done, keyAt = {}, 0, 0
for run = 2, #ARGV do
  --- @code numbers
  for _ = 1, requests do
    --- @include call
    done, keyAt = done + 1, keyAt + KEY_COUNT
    reply[done] = answer
  end
end

--- @section call
local isWrongType, isBlocked
--- @code names
--- @counters key
--- @limits present
--- @counters load
local answer = -1
if not isWrongType then
  --- @include answer
end

--- @section key
key = KEY

--- @section load
-- `bytes` is false for a counter that is absent.
--- @limits reach
--- @include read
if bytes and #bytes == WIDTH then
  --- @code unpack
  --- @limits open
  if not (SOUND) then
    bytes = false
  end
elseif bytes then
  if #bytes == WIDTH + BLOCK then
    --- @code unpack
    --- @limits open
    block = string.sub(bytes, WIDTH + 1)
    local blockEnds, levelEnds, level, setBy = struct.unpack(">I7I7I1I1", block)
    if (SOUND) and blockEnds <= stamp + YEAR and levelEnds <= stamp + 2 * YEAR and level <= LEVELS and setBy <= LIMITS then
      if stamp > now then
        -- The clock stepped back: no wait gets longer.
        blockEnds, levelEnds = math.max(0, blockEnds - stamp + now), math.max(0, levelEnds - stamp + now)
        block = struct.pack(">I7I7I1I1", blockEnds, levelEnds, level, setBy)
      end
      if blockEnds > now then
        isBlocked = true
      elseif levelEnds <= now then
        block, lives = nil, 0 -- it is over: the key is written as a whole, and is as short as before
      end
    else
      bytes, block = false, nil
    end
  elseif type(bytes) == "table" then
    if not string.find(bytes.err, "^WRONGTYPE") then
      call("GET", key) -- fails with the server's own error
    end
    isWrongType = true
  else
    bytes = false
  end
end

--- @section read
bytes = redis.pcall("GET", key)

--- @section advance
-- Brings a counter up to date, or makes an unused one.
if bytes then
  elapsed = now - stamp
  if elapsed < 0 then
    elapsed, isAhead = 0, true -- the clock stepped back: the state is taken as of now, so no wait gets longer
  end
  --- @limits advance
else
  lives = 0
  --- @code zero
  --- @limits fresh
end

--- @section renew
if not bytes or isAhead then
  --- @code generation
end

--- @section block
--[[
Blocks a counter that is not blocked, if its limits are exceeded: they denied a cost that fits them or, for limits that block on
confirmed charges, as many units are confirmed as they grant. The longest block counts. The limit that sets it starts as unused,
in a new generation.
]]
local blockEnds, levelEnds, level, setBy, longestBlock, quiet = 0, 0, 0, 0, 0, nil
if block then
  blockEnds, levelEnds, level, setBy = struct.unpack(">I7I7I1I1", block)
end
if blockEnds <= now then
  --- @limits exceeded
  if longestBlock > 0 then
    blockEnds, level = now + longestBlock, math.min(level + 1, LEVELS)
    levelEnds = math.max(levelEnds, blockEnds + math.max(longestBlock, quiet))
    block, isSet = struct.pack(">I7I7I1I1", blockEnds, levelEnds, level, setBy), true
    generation = (generation + 1) % 4294967296
    --- @limits restart
  end
end

--- @section keep
--[[
Writes a counter that changed. A key outlives the time in which it differs from an absent one. Expiry is garbage collection
only, so the time is rounded up to a power of two; and while the key lives long enough, its bytes are replaced in place, which
costs the server less. It never lives for more than 2 * longest + 2 seconds.
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
--- @include write

--- @section write
--- @include put

--- @section put
if life then
  call("SET", key, value, "PX", life)
else
  call("SETRANGE", key, "0", value)
end
