answer = 0
--- @counters "refund-counter"
