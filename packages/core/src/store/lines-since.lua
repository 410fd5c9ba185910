-- The lines that were seen since a second, in order.
local function linesSince(index, oldest)
  local lines = {}
  for line, seen in string.gmatch(index, "(\n[^\n]+ (%d+))") do
    if tonumber(seen) >= oldest then
      lines[#lines + 1] = line
    end
  end
  return lines
end
