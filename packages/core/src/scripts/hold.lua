-- Leaves of the `units` those that a limit can hold beside the ones that are `held`.
if units > MOST - held then
  units = math.max(0, MOST - held)
end
if counted > units then
  counted = units
end
