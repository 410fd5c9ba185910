answer = 0
--- @counters "judge-counter"
