--[[
Updates a process in the registry. The registry is an index of the running processes, a record of each process, and records that
processes share. The index is a sorted set: the names of the processes, by the second in which each last wrote.

KEYS  for each call the index, the record of the process, and shared records
ARGV  as in call.lua; the arguments of each call: the name of the process; its record, empty when the process leaves; the
      lifetime of that record, and of the index and the shared records, in milliseconds; the number of shared records, and the
      text of each, empty to extend its ttl without writing it
Returns as in call.lua; for each call one integer: 1 if the index had the process, 0 if not, 2 if the index is full, -1 if its key
      holds another type; and for each shared record 1 if it exists, 0 if not
]]
--- @include "../operations/call" calls
local MAX_PROCESSES = 10000

-- Writes the record of a process, and the second into the index. A new one makes those leave that are gone. Returns the state.
local function writeProcess(index, record, name, isListed, text, ttl, sharedTtl)
  local second = math.floor(now / 1000000)
  redis.call("SET", record, text, "PX", ttl) -- first: a server whose memory is full refuses only the first write of a script
  if not isListed then
    redis.call("ZREMRANGEBYSCORE", index, "-inf", "(" .. second - ttl / 1000)
    if redis.call("ZCARD", index) >= MAX_PROCESSES then
      redis.call("DEL", record)
      return 2
    end
  end
  redis.call("PEXPIRE", index, sharedTtl) -- fails before the index is written if the server permits no expiry
  redis.call("ZADD", index, second, name)
  redis.call("PEXPIRE", index, sharedTtl)
  return isListed and 1 or 0
end

return takeCalls(function()
  local index, record, from = KEYS[keyAt + 1], KEYS[keyAt + 2], argumentAt
  local name, text, ttl, sharedTtl = unpack(ARGV, from + 1, from + 4)
  local count = tonumber(ARGV[from + 5])
  local scores, isWrongType = runTyped("ZMSCORE", index, name)
  if isWrongType then
    addWrongType(1 + count)
  else
    local state = scores[1] and 1 or 0
    if text == "" then
      redis.call("ZREM", index, name)
      redis.call("DEL", record)
    else
      state = writeProcess(index, record, name, state == 1, text, ttl, sharedTtl)
    end
    add(state)
    for i = 1, count do
      local shared, new = KEYS[keyAt + 2 + i], ARGV[from + 5 + i]
      if new == "" then
        add(redis.call("PEXPIRE", shared, sharedTtl))
      else
        redis.call("SET", shared, new, "PX", sharedTtl)
        add(1)
      end
    end
  end
  keyAt, argumentAt = keyAt + 2 + count, from + 5 + count
end)
