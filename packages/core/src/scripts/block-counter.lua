--[[
Blocks a counter that is not blocked, when limits of its own that block have denied a cost that fits them or, where they block by
that, when as much is kept as they grant. Where several are exceeded, the longest block counts. The limit that sets it starts as if unused, in a new generation.
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
    --- @restart
  end
end
