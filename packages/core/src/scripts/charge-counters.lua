local counted = cost
--- @counters "charge-counter"
answer = counted
