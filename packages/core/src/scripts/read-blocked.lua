--[[
Reads a counter that has a block: it is blocked, or it was, and the level is not forgotten. Its last BLOCK bytes are
  7 bytes  blockEnds: microseconds since the epoch until which every decision is denied
  7 bytes  levelEnds: when the level is forgotten
  1 byte   level: how many blocks its limits have set since the level was forgotten last, LEVELS at most
  1 byte   setBy: the limit that set the block, from 1 in canonical order; 0 when it was set by hand
]]
if #bytes == WIDTH + BLOCK then
  --- @unpack
  --- @limits open
  block = string.sub(bytes, WIDTH + 1)
  local blockEnds, levelEnds, level, setBy = struct.unpack(">I7I7I1I1", block)
  if (ALL("sound")) and blockEnds <= stamp + YEAR and levelEnds <= stamp + 2 * YEAR and level <= LEVELS and setBy <= LIMITS then
    if stamp > now then
      -- The clock stepped back: nobody waits longer than before.
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
    call("GET", key) -- ends the script, in the server's own words
  end
  isWrongType = true
else
  bytes = false
end
