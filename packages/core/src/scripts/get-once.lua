bytes = values[key]
if bytes == nil then
  bytes = redis.pcall("GET", key)
end
