answer = {}
--- @counters "tend-counter"
