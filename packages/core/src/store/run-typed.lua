-- Runs a command on a key. Returns its reply, or nil and true when the key holds a value of another type.
local function runTyped(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= "table" or not reply.err then
    return reply, false
  end
  if string.sub(reply.err, 1, 9) == "WRONGTYPE" then
    return nil, true
  end
  return redis.call(command, key, ...), false -- any other error ends the script, in the server's own words
end
