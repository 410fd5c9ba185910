--[[
The sections shared by the scripts on counters. A counter is one subject of one limiter in one dimension. Its key holds
  7 bytes  stamp: microseconds since the epoch at which the state was true
  4 bytes  generation: distinguishes this counter from earlier ones under the same key, so that a refund cannot affect another one
  4 bytes  keyExpires: the second since the epoch before which the key does not expire
  then each limit's state, in canonical order; then, while the counter is blocked or its level is remembered, BLOCK_BYTES bytes:
  7 bytes  blockEnds: microseconds since the epoch until which every decision is denied
  7 bytes  levelEnds: when the level is forgotten
  1 byte   level: blocks that its limits have set since the level was last forgotten, at most MAX_LEVELS
  1 byte   setBy: the limit that set the block, from 1 in canonical order; 0 for a manual block
A value of another length, or with impossible numbers, counts as absent.

KEYS  for each call and each of its counters: the counter's key, then for each limit the keys of its log or slots, and of its mark
ARGV  [1] the clock, or an empty text; then one argument of digits for each run of equal calls: the parameters of the limits, the
      number of calls, and the fields of the operation
Returns for each call an answer, which the operation describes; -1, and nothing is done, if a key holds a value of another type
SCRIPTS.md explains the directives (--- @...) and the names in capitals.
]]

-- The generator puts these numbers into the scripts in place of the names.
local SAFE = 9007199254740991 -- 2^53 - 1: integers up to here are exact
local MAX_MICROS = 9007199254740000 -- microseconds, 285 years: the longest time that is stored or reported
local MAX_UNITS = 2000000000 -- units that a limit can hold
local MAX_ENTRIES = 1048576 -- entries that a log can hold
local DAY = 86400000 -- milliseconds
local YEAR = 31622400000000 -- microseconds of 366 days, the longest duration
local LAST_SECOND = 4294967295 -- 2^32 - 1
local BLOCK_BYTES = 16 -- bytes after the states of a counter with a block
local MAX_LEVELS = 16 -- blocks in a list that escalates
local HOLDER_BYTES = 8 -- of the holder of a slot

--- @section batch
--- @include functions
--- @include moment
--- @include calls
return reply

--- @section functions
-- A name of a library costs the server as much as four additions each time it is looked up.
local redis, struct = redis, struct
local call, tryCall, packNumbers, unpackNumbers = redis.call, redis.pcall, struct.pack, struct.unpack

--- @section moment
-- The clock in microseconds, read once: the server's, unless the call passes one (for tests and replays).
local givenClock, now = CLOCK, nil
if givenClock then
  now = givenClock + 0
else
  local time = call("TIME")
  now = time[1] * 1000000 + time[2]
end

--- @section calls
-- Runs the calls one after the other. `reply` has the answer to each.
local KEYS, reply, done, nextKey = KEYS, {}, 0, 1
for run = 2, #ARGV do
  local digits = ARGV[run]
  --- @code numbers
  local lastKey = nextKey + requests * KEY_COUNT - 1
  for keyAt = nextKey, lastKey, KEY_COUNT do
    --- @include call
    done = done + 1
    reply[done] = answer
  end
  nextKey = lastKey + 1
end

--- @section call
-- Ends early, with the answer -1, at a key of another type.
local isBlocked, answer
repeat
  --- @code names
  --- @counters key
  --- @limits current-window
  --- @counters load
  --- @include answer
until true

--- @section key
key = KEY

--- @section load
-- `bytes` is false for a counter that is absent.
--- @limits load-entries
--- @include read
if bytes and #bytes == WIDTH then
  --- @code unpack
  --- @limits unpack-tail
  if not (VALID) then
    bytes = false
  end
elseif bytes then
  if #bytes == WIDTH + BLOCK_BYTES then
    --- @code unpack
    --- @limits unpack-tail
    block = string.sub(bytes, WIDTH + 1)
    local blockEnds, levelEnds, level, setBy = struct.unpack(">I7I7I1I1", block)
    if (VALID) and blockEnds <= stamp + YEAR and levelEnds <= stamp + 2 * YEAR and level <= MAX_LEVELS and setBy <= LIMITS then
      if stamp > now then
        -- The clock stepped back: no wait gets longer.
        blockEnds, levelEnds = math.max(0, blockEnds - stamp + now), math.max(0, levelEnds - stamp + now)
        block = struct.pack(">I7I7I1I1", blockEnds, levelEnds, level, setBy)
      end
      if blockEnds > now then
        isBlocked = true
      elseif levelEnds <= now then
        block, keyExpires = nil, 0 -- it has ended: the key is written as a whole, without a block
      end
    else
      bytes, block = false, nil
    end
  elseif type(bytes) == "table" then
    if not string.find(bytes.err, "^WRONGTYPE") then
      call("GET", key) -- fails with the server's own error
    end
    answer = -1
    break
  else
    bytes = false
  end
end

--- @section read
bytes = tryCall("GET", key)

--- @section advance
-- Brings a counter up to date, or makes an unused one.
if bytes then
  elapsed = now - stamp
  if elapsed < 0 then
    elapsed, isAhead = 0, true -- the clock stepped back: the state is taken as of now, so no wait gets longer
    --- @code generation
  end
  --- @limits advance
else
  keyExpires = 0
  --- @code generation
  --- @code zero
  --- @limits create
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
    blockEnds, level = now + longestBlock, math.min(level + 1, MAX_LEVELS)
    levelEnds = math.max(levelEnds, blockEnds + math.max(longestBlock, quiet))
    block, isSet = struct.pack(">I7I7I1I1", blockEnds, levelEnds, level, setBy), true
    generation = (generation + 1) % 4294967296
    --- @limits restart
  end
end

--- @section save
--[[
Writes a counter that changed. The key expires after its value has become equivalent to an absent one. Expiry is garbage collection only,
so the time is rounded up to a power of two. While the key lives long enough, its bytes are replaced in place, which costs the server
less. Its TTL never exceeds 2 * longest + 2 seconds.
]]
local ttl
--- @code longest
--- @limits prepare-store
if block then
  local blockEnds, levelEnds = struct.unpack(">I7I7", block)
  longest = math.max(longest, blockEnds - now, levelEnds - now)
end
local spare = keyExpires * 1000000 - now
if givenClock or MUST_SET or spare < longest or spare > 2 * longest + 2000000 then
  local _, magnitude = math.frexp(math.min(longest, MAX_MICROS))
  ttl = 2 ^ magnitude / 1000 + 1000
  if givenClock and ttl < DAY then
    ttl = DAY -- a supplied clock may stand still
  end
  keyExpires = math.min((now / 1000 + ttl) / 1000, LAST_SECOND)
  keyExpires, ttl = keyExpires - keyExpires % 1, string.format("%d", ttl)
end
--- @limits store
value = PACKED
if block then
  value = value .. block
end
--- @include write

--- @section write
if ttl then
  call("SET", key, value, "PX", ttl)
else
  call("SETRANGE", key, "0", value)
end
