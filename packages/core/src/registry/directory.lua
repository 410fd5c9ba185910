--[[
Keeps a directory: an index, which has a line for each process that is there, the record of a process, and records that
processes share. The index is a head, which says its format, and behind it of each process a line feed, 16 characters that name
it, a space, and in 10 digits the second in which it was seen last.

KEYS  for each call the index, the record of the process, and shared records
ARGV  as in call.lua; the arguments of each call: the name of the process; its record, empty for one that leaves; for how many
      milliseconds that is kept, and for how many the index and the shared records; the number of these, and for each its text,
      empty for one whose life is only made longer
Returns as in call.lua; for each call one integer: 1 when the index had the process, 0 when not, 2 when it is full, 3 when it has
      another format, 4 when it is too long, -1 when it is no string; and one for each shared record: 1 when it is there, 0 when not
]]
--- @include "../operations/call" calls
local LINE, MOST = 28, 10000 -- bytes of a line, and how many lines there are at most
local head = "headgate directory 1"

--- @include "../operations/call" lines

-- The index without the line of a process that leaves.
local function leave(key, index, at, life)
  local left = string.sub(index, 1, at - 1) .. string.sub(index, at + LINE)
  if left == head then
    redis.call("DEL", key)
  else
    redis.call("SET", key, left, "PX", life)
  end
end

-- The index with one more line, and without processes that are gone. Returns 2 if there is no room, otherwise 0.
local function enter(key, index, line, oldest, life)
  local lines = linesSince(index, oldest)
  if #lines >= MOST then
    return 2
  end
  redis.call("SET", key, head .. table.concat(lines) .. line, "PX", life)
  return 0
end

return takeCalls(function()
  local key, record, from = KEYS[keyAt + 1], KEYS[keyAt + 2], argumentAt
  local name, text, life, sharedLife = unpack(ARGV, from + 1, from + 4)
  local count = tonumber(ARGV[from + 5])
  local length, isWrongType = runTyped("STRLEN", key)
  local isTooLong = not isWrongType and length > #head + LINE * MOST
  local index = not isWrongType and not isTooLong and redis.call("GET", key) or head
  local isOther = string.sub(index, 1, #head) ~= head or (#index - #head) % LINE ~= 0
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
        leave(key, index, at, sharedLife)
      end
      redis.call("DEL", record)
    elseif at then
      redis.call("SETRANGE", key, at + #line - 1, seen)
      redis.call("PEXPIRE", key, sharedLife)
    else
      status = enter(key, index, line .. seen, seconds - life / 1000, sharedLife)
    end
    if text ~= "" and status ~= 2 then
      redis.call("SET", record, text, "PX", life)
    end
    add(status)
    for i = 1, count do
      local shared, new = KEYS[keyAt + 2 + i], ARGV[from + 5 + i]
      if new == "" then
        add(redis.call("PEXPIRE", shared, sharedLife))
      else
        redis.call("SET", shared, new, "PX", sharedLife)
        add(1)
      end
    end
  end
  keyAt, argumentAt = keyAt + 2 + count, from + 5 + count
end)
