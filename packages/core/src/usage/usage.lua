--[[
Adds the counts of a process to the usage of its limiters. A process numbers its calls; a call with a number that was processed
before changes nothing.

The index is a sorted set: the names of the limiters, by the second of their last counts. A process is a hash: the number of its last
call, and the second of that call. The decisions of a period (a quarter of an hour, an hour or a day) are a hash: the second at which
each step (ten seconds, a minute or an hour) begins, with the numbers of decisions that were allowed, denied, and made without the
store. The subjects of ten minutes are a sorted set each for the most frequent and the most denied, by their largest possible
counts. A hash says for both how many decisions there were (`total`), the largest possible counts of a subject that processes left out
(`missed`) and of any other subject outside the set (`floor`), and the error of each count, unless it is 0. Denials by limit are a hash.
Blocks are a sorted set, by the second in which each ends.

KEYS  for each call the index; the process; the blocks; the decisions of all other limiters, in each of the call's periods; and for
      each limiter its decisions in each of these periods and, if its subjects are due, the most frequent subjects of ten minutes, the
      most denied ones, the hash of both, and the denials by limit of ten minutes and of a day
ARGV  as in call.lua; the argument of each call is JSON: `number`; `clock`, that of the process in microseconds; `ttls`, the lifetime
      of each period in milliseconds; `blocks`, each with the second of its end and its member; and `limiters`, each with its `name`,
      empty for all other limiters, `steps` (the number of the period, the second, allowed, denied, made without the store), and, if
      its subjects are due, `used` and `denied` (missed, total, and for each subject its member, count and error) and `denials`
Returns as in call.lua; for each call 1 if it was processed, 0 if it was processed before, 2 if the clock of the process differs
      too much from the server's, -1 if a key holds another type; and for each limiter 1 if it was counted, 2 if it was counted with
      all other limiters, -1 if one of its keys holds another type, and the rest was counted
]]
--- @include "../operations/call" calls
local MAX_LIMITERS, MAX_BLOCKS = 500, 1000
local MAX_ENTRIES, TOTAL_ENTRIES = 64, 2000 -- of a set of subjects or a hash of denials, and of those of all limiters together
local MAX_STORED = 1000 -- entries of a value that is read, and removed at once; any more were not written here
local MAX_COUNT, MAX_SKEW = 9007199254740991, 5000000 -- microseconds by which the clock of a process may differ
local IDLE, MAX_BLOCK = 90000, 31622400 -- seconds after which a limiter makes room for another one, and of the longest block
local PROCESS_TTL, TEN_MINUTES_TTL, DAY_TTL = 3600000, 90000000, 2678400000 -- in milliseconds
local CALL_KEYS, SUBJECT_KEYS = 3, 5
local second = math.floor(now / 1000000)

local function expire(key, milliseconds)
  redis.call("PEXPIRE", key, expiryAfter(milliseconds * 1000))
end

-- Adds blocks, and keeps those that last longest. Those that have ended are the first to go.
local function addBlocks(key, blocks)
  local last, isWrongType = runTyped("ZRANGE", key, -1, -1, "WITHSCORES")
  if isWrongType or #blocks == 0 then
    return
  end
  local entries, latest = {}, tonumber(last[2]) or 0
  for i, block in ipairs(blocks) do
    entries[2 * i - 1], entries[2 * i] = block[1], block[2]
    latest = math.max(latest, block[1])
  end
  redis.call("ZADD", key, "GT", unpack(entries))
  expire(key, 1000 * math.max(0, math.min(latest - second, MAX_BLOCK)))
  redis.call("ZREMRANGEBYRANK", key, 0, -MAX_BLOCKS - 1)
end

-- Whether a limiter has counts of its own. A new one replaces one without decisions for 25 hours.
local function isListed(index, name)
  if not redis.call("ZMSCORE", index, name)[1] and redis.call("ZCARD", index) >= MAX_LIMITERS then
    local idle = redis.call("ZRANGE", index, 0, 0, "WITHSCORES")
    if tonumber(idle[2]) > second - IDLE then
      return false
    end
    redis.call("ZREMRANGEBYRANK", index, 0, 0)
  end
  redis.call("ZADD", index, second, name)
  expire(index, DAY_TTL)
  return true
end

-- Adds the decisions of a step. Returns whether the key holds a hash.
local function addStep(key, ttl, from, ...)
  local stored, isWrongType = runTyped("HMGET", key, from)
  if isWrongType then
    return false
  end
  local given, sums = { ... }, {}
  -- A later version may have written more numbers, which stay.
  for sum in string.gmatch(string.match(stored[1] or "", "^%d+ %d+ %d+.*") or "0 0 0", "%d+") do
    sums[#sums + 1] = string.format("%.0f", math.min(sum + (given[#sums + 1] or 0), MAX_COUNT))
  end
  redis.call("HSET", key, from, table.concat(sums, " "))
  expire(key, ttl)
  return true
end

-- The numbers in a hash or a sorted set by name, and the names in order; nil if the key holds another type, or too many of them.
local function readNumbers(key, count, read, ...)
  local size, isWrongType = runTyped(count, key)
  if isWrongType or size > MAX_STORED then
    return nil
  end
  local flat, numbers, names = redis.call(read, key, ...), {}, {}
  for at = 1, #flat, 2 do
    local number = tonumber(flat[at + 1]) or 0
    names[#names + 1] = flat[at]
    numbers[flat[at]] = number >= 0 and number <= MAX_COUNT and number or 0
  end
  return numbers, names
end

-- Replaces the numbers in a hash. That is faster than many updates of a packed value.
local function writeNumbers(key, ttl, numbers)
  local flat = {}
  for name, number in pairs(numbers) do
    flat[#flat + 1], flat[#flat + 2] = name, number
  end
  if #flat > 0 then
    redis.call("DEL", key)
    redis.call("HSET", key, unpack(flat))
    expire(key, ttl)
  end
end

-- Adds the subjects of a process by space-saving: a newcomer takes the largest count that ever left the set, and the least leave.
-- `prefix` is that of the set's numbers among the bounds. Returns whether the key holds a sorted set.
local function addSubjects(key, bounds, prefix, given, most)
  local counts, members = readNumbers(key, "ZCARD", "ZRANGE", 0, -1, "REV", "WITHSCORES")
  if not counts or #given == 0 then
    return counts ~= nil
  end
  local floor, entries = bounds[prefix .. "floor"] or 0, {}
  for at = 3, #given, 3 do
    local member, field = given[at], prefix .. given[at]
    local error = (counts[member] and (bounds[field] or 0) or floor) + given[at + 2]
    bounds[field] = error > 0 and error or nil
    members[#members + 1] = not counts[member] and member or nil
    counts[member] = (counts[member] or floor) + given[at + 1]
  end
  table.sort(members, function(one, other)
    return counts[one] > counts[other]
  end)
  for i, member in ipairs(members) do
    if i <= most then
      entries[2 * i - 1], entries[2 * i] = counts[member], member
    else
      bounds[prefix .. member] = nil
    end
  end
  bounds[prefix .. "floor"] = math.max(floor, counts[members[most + 1]] or 0)
  bounds[prefix .. "missed"] = (bounds[prefix .. "missed"] or 0) + given[1]
  bounds[prefix .. "total"] = (bounds[prefix .. "total"] or 0) + given[2]
  -- Written again with the largest first: an update of a packed set takes several times as long as a new first member.
  redis.call("DEL", key)
  redis.call("ZADD", key, unpack(entries))
  expire(key, TEN_MINUTES_TTL)
  return true
end

-- Adds denials by limit. Limits for which there is no room count as "more". Returns whether the key holds a hash.
local function addDenials(key, ttl, denials, most)
  local known, names = readNumbers(key, "HLEN", "HGETALL")
  if not known then
    return false
  end
  local size = #names
  for name, denied in pairs(denials) do
    local isMore = not known[name] and size >= most and string.find(name, " ", 1, true)
    local counted = isMore and "more" or name
    size = size + (known[counted] and 0 or 1)
    known[counted] = (known[counted] or 0) + denied
  end
  writeNumbers(key, ttl, known)
  return true
end

-- Adds the counts of a limiter, whose keys begin after `key`, or after `others` if it has none of its own.
local function addLimiter(index, others, key, ttls, limiter, most)
  local isOwn = limiter.name ~= "" and isListed(index, limiter.name)
  local isStored = true
  for _, step in ipairs(limiter.steps) do
    local period = step[1]
    isStored = addStep(KEYS[(isOwn and key or others) + period], ttls[period], unpack(step, 2)) and isStored
  end
  if isOwn and limiter.used then
    local used, denied, bounds, ofTenMinutes, ofDay = unpack(KEYS, key + #ttls + 1, key + #ttls + SUBJECT_KEYS)
    local known = readNumbers(bounds, "HLEN", "HGETALL")
    if known then
      isStored = addSubjects(used, known, "used ", limiter.used, most) and isStored
      isStored = addSubjects(denied, known, "denied ", limiter.denied, most) and isStored
      writeNumbers(bounds, TEN_MINUTES_TTL, known)
    end
    isStored = addDenials(ofTenMinutes, TEN_MINUTES_TTL, limiter.denials, most) and known and isStored
    isStored = addDenials(ofDay, DAY_TTL, limiter.denials, most) and isStored
  end
  return not isStored and -1 or isOwn and 1 or 2
end

return takeCalls(function()
  local index, process, blocks = unpack(KEYS, keyAt + 1, keyAt + CALL_KEYS)
  local call = cjson.decode(ARGV[argumentAt + 1])
  local limiters, isOther = runTyped("ZCARD", index)
  local known, isWrongType = runTyped("HMGET", process, "call")
  local status = 1
  if isOther or isWrongType then
    status = -1
  elseif call.number <= (tonumber(known[1]) or 0) then
    status = 0
  elseif math.abs(now - call.clock) > MAX_SKEW then
    status = 2
  else
    -- Before anything is written, these fail if the server is full, or permits no expiry. A full server refuses nothing after the first
    -- write of a script, even one that stores nothing.
    redis.call("ZADD", index, "XX", 0, "")
    expire(process, PROCESS_TTL)
    -- Written first: if a later write is refused, the counts are lost rather than counted twice.
    redis.call("HSET", process, "call", call.number, "at", second)
    expire(process, PROCESS_TTL)
    addBlocks(blocks, call.blocks)
  end
  add(status)
  local most = math.min(MAX_ENTRIES, math.floor(TOTAL_ENTRIES / math.max(1, limiters or 1)))
  local others = keyAt + CALL_KEYS
  local key = others + #call.ttls
  for _, limiter in ipairs(call.limiters) do
    add(status == 1 and addLimiter(index, others, key, call.ttls, limiter, most) or 0)
    key = key + #call.ttls + (limiter.used and SUBJECT_KEYS or 0)
  end
  keyAt, argumentAt = key, argumentAt + 1
end)
