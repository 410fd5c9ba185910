--[[
Updates a process in the registry. The registry is an index of the running processes, a record of each process, and records that
processes share. The index is a head, which names its format, and for each process a line feed, the process's name of 16
characters, a space, and the second in which the process last wrote, in 10 digits.

KEYS  for each call the index, the record of the process, and shared records
ARGV  as in call.lua; the arguments of each call: the name of the process; its record, empty when the process leaves; the
      lifetime of that record, and of the index and the shared records, in milliseconds; the number of shared records, and the
      text of each, empty to extend its ttl without writing it
Returns as in call.lua; for each call one integer: 1 if the index had the process, 0 if not, 2 if the index is full, 3 if it has
      another format, 4 if it is too long, -1 if the key holds another type; and for each shared record 1 if it exists, 0 if not
]]
--- @include "../operations/call" calls
local LINE_BYTES, MAX_LINES = 28, 10000
local head = "headgate registry 1"

--- @include "../operations/call" lines

-- Removes the line of a process from the index.
local function removeLine(key, index, at, ttl)
  local rest = string.sub(index, 1, at - 1) .. string.sub(index, at + LINE_BYTES)
  if rest == head then
    redis.call("DEL", key)
  else
    redis.call("SET", key, rest, "PX", ttl)
  end
end

-- Adds a line to the index, and drops the lines of processes that are gone. Returns 2 if the index is full, otherwise 0.
local function addLine(key, index, line, oldest, ttl)
  local lines = linesSince(index, oldest)
  if #lines >= MAX_LINES then
    return 2
  end
  redis.call("SET", key, head .. table.concat(lines) .. line, "PX", ttl)
  return 0
end

return takeCalls(function()
  local key, record, from = KEYS[keyAt + 1], KEYS[keyAt + 2], argumentAt
  local name, text, ttl, sharedTtl = unpack(ARGV, from + 1, from + 4)
  local count = tonumber(ARGV[from + 5])
  local length, isWrongType = runTyped("STRLEN", key)
  local isTooLong = not isWrongType and length > #head + LINE_BYTES * MAX_LINES
  local index = not isWrongType and not isTooLong and redis.call("GET", key) or head
  local isOther = string.sub(index, 1, #head) ~= head or (#index - #head) % LINE_BYTES ~= 0
  if isWrongType then
    addWrongType(1 + count)
  elseif isTooLong or isOther then
    add(isTooLong and 4 or 3)
    for _ = 1, count do
      add(0)
    end
  else
    local line = "\n" .. name .. " "
    local at = string.find(index, line, #head + 1, true)
    local seconds = math.floor(now / 1000000)
    local seen = string.format("%010.0f", seconds)
    local status = at and 1 or 0
    if text == "" then
      if at then
        removeLine(key, index, at, sharedTtl)
      end
      redis.call("DEL", record)
    elseif at then
      redis.call("SETRANGE", key, at + #line - 1, seen)
      redis.call("PEXPIRE", key, sharedTtl)
    else
      status = addLine(key, index, line .. seen, seconds - ttl / 1000, sharedTtl)
    end
    if text ~= "" and status ~= 2 then
      redis.call("SET", record, text, "PX", ttl)
    end
    add(status)
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
