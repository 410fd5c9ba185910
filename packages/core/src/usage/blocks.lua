--[[
The blocks in force that processes have encountered: the head, and for each block a line feed, the second in which it ends, a
space, and the blocked subject, as in block-sightings.ts. Blocks that have ended are removed when the next one is added. A reader
checks each one against its counter.
]]
--- @section blocks
local MAX_BLOCKS, MAX_BLOCKS_BYTES = 1000, 524288 -- blocks in the list, and bytes of it

-- Adds blocks to the list, as far as there is room; a value that is not such a list is left alone.
local function addBlocks(key, lines)
  local text = lines ~= "" and readRecord(key, MAX_BLOCKS_BYTES)
  if not text then
    return
  end
  local second, ends, order, latest = now / 1000000, {}, {}, 0
  local function take(added)
    for at, blockedSubject in string.gmatch(added, "(%d+) ([^\n]+)") do
      at = tonumber(at)
      if at > second and (ends[blockedSubject] or #order < MAX_BLOCKS) then
        order[#order + 1] = not ends[blockedSubject] and blockedSubject or nil
        ends[blockedSubject] = math.max(ends[blockedSubject] or 0, at)
        latest = math.max(latest, at)
      end
    end
  end
  take(text)
  take(lines)
  if #order > 0 then
    for i, blockedSubject in ipairs(order) do
      order[i] = string.format("%010.0f %s", ends[blockedSubject], blockedSubject)
    end
    redis.call("SET", key, start .. table.concat(order, "\n"), "PX", expiryAfter(latest * 1000000 - now))
  end
end
