--- @include "advance-counter"
local isChanged = false
for at = HOLDERS_AT, #DIGITS, HOLDER_BYTES do
  local holder, isThere = string.sub(DIGITS, at, at + HOLDER_BYTES - 1), 0
  --- @limits tend
  isChanged = isChanged or isThere == 1
  answer[#answer + 1] = isThere
end
if isChanged then
  --- @include "keep-counter"
end
