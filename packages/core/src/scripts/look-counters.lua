--- @counters "look-counter"
answer = { now, REPORTED }
