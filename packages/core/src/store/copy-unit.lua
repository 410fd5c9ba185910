-- In place of `unit` a copy to spend from and to tell of, while the unit does not change.
local copy = { unpack(unit) }
for _, at in ipairs(limits.logs or {}) do
  -- The entries that are there are shared: what the copy appends is behind them.
  copy[at] = {}
  for field, value in pairs(unit[at]) do
    copy[at][field] = value
  end
end
unit = copy
