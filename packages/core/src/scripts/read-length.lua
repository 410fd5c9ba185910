-- How many bytes a string beside the counter has, which its limit keeps there.
length = redis.pcall("STRLEN", LOG)
if type(length) == "table" then
  if not string.find(length.err, "^WRONGTYPE") then
    call("STRLEN", LOG) -- ends the script, in the server's own words
  end
  isWrongType, length = true, 0
end
