--- @counters "charge-counter"
answer = { COUNTED }
