-- Takes the block of a limit that is exceeded, where it is longer than those of others.
if EXCEEDS then
  local place = RULE_AT + 5 * math.min(level + 1, LEVELS)
  local d1, d2, d3, d4, d5 = string.byte(DIGITS, place + 1, place + 5)
  local span = (((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5) * 1000
  if span > longestBlock then
    d1, d2, d3, d4, d5 = string.byte(DIGITS, RULE_AT + 1, RULE_AT + 5)
    quiet = (((((d1) * 128 + d2) * 128 + d3) * 128 + d4) * 128 + d5) * 1000
    longestBlock, setBy = span, PLACE
  end
end
