--[[
Charges `unit` when the decision is `allowed`, and adds to the reply what there is to tell of it, or that the decision
`isForeign`.
]]
if isForeign then
  told = told + 1
  reply[told] = told == decisionAt and -1 or 0
  for _ = 1, 2 * #limits do
    told = told + 1
    reply[told] = 0
  end
else
  told = told + 1
  reply[told] = unit[BIRTH]
  local spent, longest = allowed and spends or 0, 0
  if not charges and spent > 0 then
    --- @include "copy-unit"
  end
  for i = 2, #limits, 2 do
    local remaining, reset, growth = limits[i](unit, spent)
    waitsTold = waitsTold + 1
    reply[told + 1] = waits[waitsTold]
    reply[told + 2] = remaining
    reply[told + 3] = reset
    reply[told + 4] = growth
    told = told + 4
    if reset > longest then
      longest = reset
    end
  end
  if charges and allowed then
    --- @include "mark-unit"
  end
end
