-- The two lists of a text; nil where it makes no sense.
local function readLists(text)
  local used, denied = string.match(text, "^[^\n]+\n([^\n]+)\n([^\n]+)$")
  local isRead, lists = pcall(cjson.decode, "[" .. (used or "") .. "," .. (denied or "") .. "]")
  if isRead and type(lists[1]) == "table" and type(lists[2]) == "table" then
    return lists
  end
end
