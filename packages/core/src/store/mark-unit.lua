-- Has `unit` written at the end, as one that differs from an absent one for `longest` microseconds more.
if not unit[RESET] then
  changes = changes + 1
  changed[changes] = unit
end
unit[RESET] = longest
