-- In place of `unit` a copy to spend from and to tell of, while the unit does not change.
local copy = { unpack(unit) }
for i = 1, #limits do
  local entries = unit[limits[i]]
  if entries then
    -- The entries that are there are shared: what the copy appends is behind them.
    copy[limits[i]] = {}
    for field, value in pairs(entries) do
      copy[limits[i]][field] = value
    end
  end
end
unit = copy
