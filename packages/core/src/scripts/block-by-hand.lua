answer = 0
--- @counters "block-counter-by-hand"
